package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/memory"
)

// memories registers the operations on agents' memories. Agent definitions belong to no project, so reading needs a role in all projects.
func (s *Server) memories() {
	const one = base + "/memory/{agent}"
	register(s, operation{method: http.MethodGet, path: one + "/blocks", id: "list-memory-blocks", role: config.RoleViewer, everywhere: true,
		summary: "Read the memory blocks of an agent"}, s.blocks)
	register(s, operation{method: http.MethodGet, path: one + "/archival", id: "search-memory", role: config.RoleViewer, everywhere: true,
		summary: "List the archival entries of an agent, or search them"}, s.archival)
	change := func(method, path, id, summary string) operation {
		return operation{method: method, path: one + path, id: id, role: config.RoleOperator, everywhere: true, summary: summary}
	}
	register(s, change(http.MethodPut, "/blocks/{label}", "write-memory-block", "Write a memory block of an agent"), s.writeBlock)
	register(s, change(http.MethodDelete, "/blocks/{label}", "delete-memory-block", "Delete a memory block of an agent"), s.deleteBlock)
	register(s, change(http.MethodDelete, "/archival/{entry}", "delete-memory", "Delete an archival entry of an agent"), s.deleteEntry)
}

type AgentIn struct {
	Agent string `path:"agent" maxLength:"200" doc:"name of the agent's definition"`
}

func (s *Server) blocks(ctx context.Context, in *AgentIn) (*body[page[memory.Block]], error) {
	st, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	saved, err := st.ExportMemory(ctx, in.Agent)
	return &body[page[memory.Block]]{page[memory.Block]{Items: append([]memory.Block{}, saved.Blocks...)}}, err
}

type archivalIn struct {
	AgentIn
	Search string `query:"q" maxLength:"1000" doc:"words, one of which is in each entry; absent = all entries"`
	Page   int    `query:"page" minimum:"0" maximum:"10000" doc:"from 0"`
}

func (s *Server) archival(ctx context.Context, in *archivalIn) (*body[page[memory.Entry]], error) {
	st, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	out := page[memory.Entry]{Items: []memory.Entry{}}
	if in.Search == "" {
		saved, err := st.ExportMemory(ctx, in.Agent)
		all := saved.Archival
		all = all[min(len(all), in.Page*memory.PageSize):]
		out.Items = append(out.Items, all[:min(len(all), memory.PageSize)]...)
		return &body[page[memory.Entry]]{out}, err
	}
	if _, err := st.ExportMemory(ctx, in.Agent); err != nil { // Remember would create an unknown agent's memory
		return nil, err
	}
	err = st.Remember(ctx, in.Agent, func(tx memory.Tx) error {
		found, err := tx.SearchArchival(ctx, in.Search, in.Page)
		out.Items = append(out.Items, found...)
		return err
	})
	return &body[page[memory.Entry]]{out}, err
}

// LabelIn is the path of a memory block.
type LabelIn struct {
	AgentIn
	Label string `path:"label" maxLength:"64"`
}

type blockIn struct {
	LabelIn
	Body memory.BlockEdit
}

// changeMemory changes an agent's memory and records that in the audit log. It creates no memory for an agent that is neither
// configured nor has a memory already.
func (s *Server) changeMemory(ctx context.Context, name string, detail json.RawMessage, fn func(memory.Tx) error) error {
	st, err := s.store(ctx)
	if err == nil && !s.opts.Config().Owns(name) {
		_, err = st.ExportMemory(ctx, name)
	}
	if err != nil {
		return err
	}
	err = st.RememberAs(ctx, name, audit.Act{Who: accessOf(ctx).name, Channel: accessOf(ctx).channel, Detail: detail}, fn)
	if errors.Is(err, memory.ErrBlock) {
		err = huma.Error422UnprocessableEntity(err.Error())
	}
	return err
}

func (s *Server) writeBlock(ctx context.Context, in *blockIn) (*body[memory.Block], error) {
	out := body[memory.Block]{}
	err := s.changeMemory(ctx, in.Agent, audit.Detail("block", in.Label, "change", "written"), func(tx memory.Tx) (err error) {
		out.Body, err = memory.Edit(ctx, tx, in.Label, in.Body)
		return err
	})
	return &out, err
}

func (s *Server) deleteBlock(ctx context.Context, in *LabelIn) (*body[named], error) {
	detail := audit.Detail("block", in.Label, "change", "deleted")
	err := s.changeMemory(ctx, in.Agent, detail, func(tx memory.Tx) error {
		return missing(tx.DeleteBlock(ctx, in.Label))
	})
	return &body[named]{named{in.Label}}, err
}

type entryIn struct {
	AgentIn
	Entry int64 `path:"entry" minimum:"1"`
}

func (s *Server) deleteEntry(ctx context.Context, in *entryIn) (*body[named], error) {
	number := strconv.FormatInt(in.Entry, 10)
	err := s.changeMemory(ctx, in.Agent, audit.Detail("entry", number, "change", "deleted"), func(tx memory.Tx) error {
		return missing(tx.DeleteArchival(ctx, in.Entry))
	})
	return &body[named]{named{number}}, err
}

// missing returns errHidden if there was nothing to delete.
func missing(there bool, err error) error {
	if err == nil && !there {
		return errHidden
	}
	return err
}

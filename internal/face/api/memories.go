package api

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// memories serves agents' memories. Agent definitions belong to no project, so reading needs a role in all projects.
type memories struct{ base }

func (h memories) routes(to *Server) {
	register(to, system.ListMemoryBlocks, h.blocks)
	register(to, system.SearchMemory, h.archival)
	register(to, system.WriteMemoryBlock, h.writeBlock)
	register(to, system.DeleteMemoryBlock, h.deleteBlock)
	register(to, system.DeleteMemory, h.deleteEntry)
}

func (h memories) blocks(ctx context.Context, in *system.AgentIn) (*body[system.Page[memory.Block]], error) {
	st, err := h.store(ctx)
	if err != nil {
		return nil, err
	}
	saved, err := st.ExportMemory(ctx, in.Agent)
	return reply(system.Page[memory.Block]{Items: append([]memory.Block{}, saved.Blocks...)}), err
}

func (h memories) archival(ctx context.Context, in *system.ArchivalIn) (*body[system.Page[memory.Entry]], error) {
	st, err := h.store(ctx)
	if err != nil {
		return nil, err
	}
	out := system.Page[memory.Entry]{Items: []memory.Entry{}}
	if in.Search == "" {
		saved, err := st.ExportMemory(ctx, in.Agent)
		all := saved.Archival
		all = all[min(len(all), in.Page*memory.PageSize):]
		out.Items = append(out.Items, all[:min(len(all), memory.PageSize)]...)
		return reply(out), err
	}
	if _, err := st.ExportMemory(ctx, in.Agent); err != nil { // Remember would create an unknown agent's memory
		return nil, err
	}
	err = st.Remember(ctx, in.Agent, func(tx memory.Tx) error {
		found, err := tx.SearchArchival(ctx, in.Search, in.Page)
		out.Items = append(out.Items, found...)
		return err
	})
	return reply(out), err
}

// changeMemory changes an agent's memory and records that in the audit trail. It creates no memory for an agent that is not
// configured and has no memory yet.
func (h memories) changeMemory(ctx context.Context, name string, detail json.RawMessage, fn func(memory.Tx) error) error {
	st, err := h.store(ctx)
	if err == nil && !h.opts.Config().Owns(name) {
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

func (h memories) writeBlock(ctx context.Context, in *system.BlockIn) (*body[memory.Block], error) {
	out := body[memory.Block]{}
	err := h.changeMemory(ctx, in.Agent, audit.Detail("block", in.Label, "change", "written"), func(tx memory.Tx) (err error) {
		out.Body, err = memory.Edit(ctx, tx, in.Label, in.Body)
		return err
	})
	return &out, err
}

func (h memories) deleteBlock(ctx context.Context, in *system.LabelIn) (*body[system.Named], error) {
	detail := audit.Detail("block", in.Label, "change", "deleted")
	err := h.changeMemory(ctx, in.Agent, detail, func(tx memory.Tx) error {
		return missing(tx.DeleteBlock(ctx, in.Label))
	})
	return reply(system.Named{ID: in.Label}), err
}

func (h memories) deleteEntry(ctx context.Context, in *system.EntryIn) (*body[system.Named], error) {
	number := strconv.FormatInt(in.Entry, 10)
	err := h.changeMemory(ctx, in.Agent, audit.Detail("entry", number, "change", "deleted"), func(tx memory.Tx) error {
		return missing(tx.DeleteArchival(ctx, in.Entry))
	})
	return reply(system.Named{ID: number}), err
}

// missing returns errHidden if there was nothing to delete.
func missing(there bool, err error) error {
	if err == nil && !there {
		return errHidden
	}
	return err
}

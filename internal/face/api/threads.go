package api

import (
	"context"

	"github.com/inquest-dev/inquest/internal/system"
)

func (h conversations) find(ctx context.Context, in *system.FindTurnsIn) (*body[system.Page[system.FoundTurn]], error) {
	projects, err := accessOf(ctx).within(in.Project)
	if err != nil {
		return nil, err
	}
	out, err := h.opts.System.TurnsWith(ctx, *in, projects)
	return reply(out), err
}

// exportOut is a file that browsers save.
type exportOut struct {
	Type        string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

func (h conversations) export(ctx context.Context, in *system.ExportThreadIn) (*exportOut, error) {
	o, err := h.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	in.ID = o.ID
	content, err := h.opts.System.ExportThread(ctx, *in)
	kind := "text/markdown; charset=utf-8"
	if in.Format == system.FormatJSON {
		kind = "application/json"
	}
	return &exportOut{kind, "attachment", content}, err
}

func (h conversations) delete(ctx context.Context, in *system.ThreadIn) (*body[system.Named], error) {
	o, err := h.ownedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	_, err = h.opts.System.DeleteThread(ctx, o.ID, sender(ctx))
	return reply(system.Named{ID: o.ID}), err
}

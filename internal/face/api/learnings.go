package api

import (
	"context"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
)

// learnings serves what investigations taught later ones. Each learning belongs to one project.
type learnings struct{ base }

func (h learnings) routes(to *Server) {
	register(to, system.ListLearnings, h.list)
	register(to, system.GetLearning, h.get)
	register(to, system.EditLearning, h.edit)
	register(to, system.DeleteLearning, h.delete)
	register(to, system.GetTaught, h.taught)
	register(to, system.WithdrawLearnings, h.withdraw)
}

// sender returns who sent the request.
func sender(ctx context.Context) agent.Identity {
	who := accessOf(ctx)
	return agent.Identity{Name: who.name, Channel: who.channel}
}

func (h learnings) list(ctx context.Context, in *system.LearningsIn) (*body[system.Page[system.Learning]], error) {
	var err error
	if in.Project, err = accessOf(ctx).owner(in.Project); err != nil {
		return nil, err
	}
	out, err := h.opts.System.Learnings(ctx, *in)
	return reply(out), err
}

func (h learnings) get(ctx context.Context, in *system.GetLearningIn) (*body[system.LearningWhole], error) {
	var err error
	if in.Project, err = accessOf(ctx).owner(in.Project); err != nil {
		return nil, err
	}
	out, err := h.opts.System.Learning(ctx, *in)
	return reply(out), err
}

func (h learnings) edit(ctx context.Context, in *system.EditLearningIn) (*body[system.Learning], error) {
	var err error
	if in.Project, err = accessOf(ctx).owner(in.Project); err != nil {
		return nil, err
	}
	out, err := h.opts.System.EditLearning(ctx, *in, sender(ctx))
	return reply(out), err
}

func (h learnings) delete(ctx context.Context, in *system.LearningIn) (*body[system.Named], error) {
	var err error
	if in.Project, err = accessOf(ctx).owner(in.Project); err != nil {
		return nil, err
	}
	return reply(system.Named{ID: in.Learning}), h.opts.System.DeleteLearning(ctx, *in, sender(ctx))
}

func (h learnings) taught(ctx context.Context, in *system.TaughtIn) (*body[system.Taught], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	in.ID = o.ID
	out, err := h.opts.System.Taught(ctx, *in)
	return reply(out), err
}

func (h learnings) withdraw(ctx context.Context, in *system.WithdrawIn) (*body[system.Taught], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	in.ID = o.ID
	out, err := h.opts.System.WithdrawLearnings(ctx, *in, sender(ctx))
	return reply(out), err
}

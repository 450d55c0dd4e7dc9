package api

import (
	"context"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// base has the shared parts of all handlers.
type base struct{ opts *Options }

// body is a JSON response.
type body[T any] struct{ Body T }

func reply[T any](content T) *body[T] { return &body[T]{content} }

// owned finds an investigation that the request is allowed to use.
func (b base) owned(ctx context.Context, id string) (client.Owned, error) {
	o, err := b.opts.System.Owner(ctx, id)
	if err == nil {
		err = accessOf(ctx).of(o.Project)
	}
	return o, err
}

// ownedThread finds a conversation that the request is allowed to use.
func (b base) ownedThread(ctx context.Context, id string) (client.Owned, error) {
	o, err := b.opts.System.ThreadOwner(ctx, id)
	if err == nil {
		err = accessOf(ctx).of(o.Project)
	}
	return o, err
}

// waits finds an investigation or a conversation that may be waiting for someone.
func (b base) waits(ctx context.Context, id string) (client.Owned, error) {
	o, err := b.owned(ctx, id)
	if isHidden(err) {
		if o, err = b.opts.System.ThreadOwner(ctx, id); err == nil {
			err = accessOf(ctx).of(o.Project)
		}
	}
	return o, err
}

// store returns the workers' store, or ErrNoStore.
func (b base) store(ctx context.Context) (*store.Store, error) {
	st, err := b.opts.System.Store(ctx)
	if err == nil && st == nil {
		err = system.ErrNoStore
	}
	return st, err
}

// unrecorded returns how an investigation ended before any worker took it, which leaves no record. Nil means that it is running and was
// just started.
func (b base) unrecorded(ctx context.Context, id string) (*system.Result, error) {
	h, err := b.opts.System.Find(ctx, id)
	if err != nil || h.Open {
		return nil, err
	}
	out, err := b.opts.System.Await(ctx, h)
	return &out, err
}

// knownAgent returns nil if a project has an agent, either from the configuration or made at run time.
func (b base) knownAgent(ctx context.Context, project, name string) error {
	if b.opts.Config().Owns(name) {
		return nil
	}
	_, err := b.opts.System.VirtualAgent(ctx, project, name)
	return err
}

// plan returns the plan that a worker would make.
func (b base) plan(ctx context.Context, cfg *configuration.Config, req agent.Request) (plan.Plan, error) {
	return app.Plan(ctx, cfg, made{b}, req)
}

// made looks up agents made at run time. Without a store it finds none, and the plan of a chain that needs one fails.
type made struct{ base }

func (m made) VirtualAgents(ctx context.Context, project string, names ...string) ([]virtual.Agent, error) {
	st, err := m.opts.System.Store(ctx)
	if err != nil || st == nil {
		return nil, err
	}
	return st.VirtualAgents(ctx, project, names...)
}

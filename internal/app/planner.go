package app

import (
	"context"
	"log/slog"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// Made holds the agents that were created at run time. *store.Store implements it.
type Made interface {
	// VirtualAgents returns the last versions of agents of a project.
	VirtualAgents(ctx context.Context, project string, names ...string) ([]virtual.Agent, error)
}

// planner plans with the configuration. It adds the run-time agents that a request needs, and the models that the program's
// functions choose.
type planner struct {
	Configuration
	made      Made
	selectors map[string]hook.Selector
	log       *slog.Logger
}

func (p planner) Plan(ctx context.Context, req agent.Request, data string) (plan.Plan, error) {
	cfg, err := withMade(ctx, p.Current(), p.made, req)
	if err != nil {
		return plan.Plan{}, err
	}
	resolved := req
	resolved.Chain, resolved.AlertType = cfg.ChainOf(req), cfg.AlertTypeOf(req)
	q := p.asking(resolved, data)
	return chosen(ctx, q, cfg, func(cfg *configuration.Config) (plan.Plan, error) { return cfg.Plan(req) })
}

// Plan plans a request as workers do, except for the models that functions of their program choose.
func Plan(ctx context.Context, cfg *configuration.Config, made Made, req agent.Request) (plan.Plan, error) {
	cfg, err := withMade(ctx, cfg, made, req)
	if err != nil {
		return plan.Plan{}, err
	}
	return cfg.Plan(req)
}

func withMade(ctx context.Context, cfg *configuration.Config, made Made, req agent.Request) (*configuration.Config, error) {
	return WithMade(ctx, cfg, made, req.Project, cfg.VirtualOf(cfg.ChainOf(req))...)
}

func (p planner) Conversation(ctx context.Context, req agent.ConversationRequest) (plan.Plan, error) {
	cfg := p.Current()
	cfg, err := WithMade(ctx, cfg, p.made, req.Project, cfg.VirtualOf(configuration.OfAgent+req.Agent)...)
	if err != nil {
		return plan.Plan{}, err
	}
	q := p.asking(agent.Request{Labels: agent.Labels{Project: req.Project}, AllowEmpty: true}, "")
	return chosen(ctx, q, cfg, func(cfg *configuration.Config) (plan.Plan, error) { return cfg.Conversation(req) })
}

func (p planner) Scoring(ctx context.Context, req agent.Request, data string) (plan.Stage, error) {
	cfg := p.Current()
	cfg, err := WithMade(ctx, cfg, p.made, req.Project, cfg.VirtualJudge(req.Chain)...)
	if err != nil {
		return plan.Stage{}, err
	}
	req.AllowEmpty, req.Attach = true, true // the data was checked when the investigation began
	return chosen(ctx, p.asking(req, data), cfg, func(cfg *configuration.Config) (plan.Stage, error) {
		return cfg.Scoring(req.Chain, req.Project)
	})
}

// WithMade returns a configuration that includes the named run-time agents of a project that exist.
func WithMade(ctx context.Context, cfg *configuration.Config, made Made, project string, names ...string) (*configuration.Config, error) {
	if len(names) == 0 {
		return cfg, nil
	}
	all, err := made.VirtualAgents(ctx, project, names...)
	if err != nil {
		return nil, err
	}
	return cfg.With(all...)
}

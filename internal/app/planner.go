package app

import (
	"context"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// Made is where agents are that were made at run time; a *store.Store is.
type Made interface {
	// VirtualAgents are the last versions of agents of a project.
	VirtualAgents(ctx context.Context, project string, names ...string) ([]virtual.Agent, error)
}

// planner plans by the configuration, with the agents in it that a request needs and that were made at run time.
type planner struct {
	Configuration
	made Made
}

func (p planner) Plan(ctx context.Context, req agent.Request) (plan.Plan, error) {
	return Plan(ctx, p.Current(), p.made, req)
}

// Plan plans a request as workers do.
func Plan(ctx context.Context, cfg *config.Config, made Made, req agent.Request) (plan.Plan, error) {
	cfg, err := WithMade(ctx, cfg, made, req.Project, cfg.VirtualOf(cfg.ChainOf(req))...)
	if err != nil {
		return plan.Plan{}, err
	}
	return cfg.Plan(req)
}

func (p planner) Conversation(ctx context.Context, req agent.ConversationRequest) (plan.Plan, error) {
	cfg := p.Current()
	cfg, err := WithMade(ctx, cfg, p.made, req.Project, cfg.VirtualOf(config.OfAgent+req.Agent)...)
	if err != nil {
		return plan.Plan{}, err
	}
	return cfg.Conversation(req)
}

func (p planner) Scoring(chain string) (plan.Stage, error) { return p.Current().Scoring(chain) }

// WithMade is a configuration with agents of a project in it that were made at run time, as many as there are of the names.
func WithMade(ctx context.Context, cfg *config.Config, made Made, project string, names ...string) (*config.Config, error) {
	if len(names) == 0 {
		return cfg, nil
	}
	all, err := made.VirtualAgents(ctx, project, names...)
	if err != nil {
		return nil, err
	}
	return cfg.With(all...)
}

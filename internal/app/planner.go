package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// Made is where agents are that were made at run time; a *store.Store is.
type Made interface {
	// VirtualAgents are the last versions of agents of a project.
	VirtualAgents(ctx context.Context, project string, names ...string) ([]virtual.Agent, error)
}

// planner plans by the configuration, with the agents in it that a request needs and that were made at run time, and the
// models that the program's functions choose.
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
	return cfg.Choosing(p.choose(ctx, cfg, req, data)).Plan(req)
}

// Plan plans a request as workers do, but for the models that functions of their program choose.
func Plan(ctx context.Context, cfg *config.Config, made Made, req agent.Request) (plan.Plan, error) {
	cfg, err := withMade(ctx, cfg, made, req)
	if err != nil {
		return plan.Plan{}, err
	}
	return cfg.Plan(req)
}

func withMade(ctx context.Context, cfg *config.Config, made Made, req agent.Request) (*config.Config, error) {
	return WithMade(ctx, cfg, made, req.Project, cfg.VirtualOf(cfg.ChainOf(req))...)
}

func (p planner) Conversation(ctx context.Context, req agent.ConversationRequest) (plan.Plan, error) {
	cfg := p.Current()
	cfg, err := WithMade(ctx, cfg, p.made, req.Project, cfg.VirtualOf(config.OfAgent+req.Agent)...)
	if err != nil {
		return plan.Plan{}, err
	}
	about := agent.Request{Labels: agent.Labels{Project: req.Project}}
	return cfg.Choosing(p.choose(ctx, cfg, about, "")).Conversation(req)
}

func (p planner) Scoring(ctx context.Context, req agent.Request, data string) (plan.Stage, error) {
	cfg := p.Current()
	cfg, err := WithMade(ctx, cfg, p.made, req.Project, cfg.VirtualJudge(req.Chain)...)
	if err != nil {
		return plan.Stage{}, err
	}
	return cfg.Choosing(p.choose(ctx, cfg, req, data)).Scoring(req.Chain, req.Project)
}

// selectorTime is how long a selector may take.
const selectorTime = 30 * time.Second

// choose asks the selectors, who are told of a request what may be stored of it.
func (p planner) choose(ctx context.Context, cfg *config.Config, req agent.Request, data string) config.Choose {
	return func(selector, name string) (string, error) {
		masker, err := mask.Of(cfg.AlertMasking())
		if err != nil {
			return "", err
		}
		masked := func(text string) (string, error) {
			if masker == nil {
				return text, nil
			}
			return masker.Text(ctx, text)
		}
		labels, err := req.Labels.Masked(masked)
		text, failed := masked(data)
		if err = errors.Join(err, failed); err != nil {
			return "", err
		}
		within, cancel := context.WithTimeout(ctx, selectorTime)
		defer cancel()
		model, err := p.selectors[selector].Call(within, hook.SelectorInput{
			Agent: name, Chain: cfg.ChainOf(req), AlertType: req.AlertType, Project: cmp.Or(req.Project, agent.DefaultProject), Request: text,
			RequestedBy: req.By, Tenant: labels.Tenant, Session: labels.Session, Metadata: labels.Metadata,
		}, p.log)
		if err != nil {
			said, failed := masked(err.Error())
			err = errors.Join(errors.New(clip.Bytes(said, maxSelectorError)), failed)
		}
		return model, err
	}
}

// maxSelectorError is how much of an error of a selector is told, in bytes.
const maxSelectorError = 1000

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

package api

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// checks checks requests before they are started, and shows what people have done.
type checks struct{ base }

func (h checks) routes(to *Server) {
	register(to, system.CheckRequest, h.checkRequest)
	register(to, system.ListActs, h.acts)
	register(to, system.GetAbout, h.about)
}

// withModel returns the name of an agent and its model.
func withModel(a plan.Agent) string {
	switch {
	case len(a.Providers) == 0:
		return a.Name
	case a.Providers[0].Type == config.ProviderSelector:
		return a.Name + " · selector " + a.Providers[0].Model
	}
	return a.Name + " · " + a.Providers[0].Model
}

// shownOfData is how much of a request's data a check shows, in bytes.
const shownOfData = 16 << 10

func (h checks) checkRequest(ctx context.Context, in *system.CheckIn) (*body[system.Checked], error) {
	req, cfg := in.Body.Request(), h.opts.Config()
	var err error
	if req.Project, err = accessOf(ctx).owner(in.Body.Project); err != nil {
		return nil, err
	}
	text := agent.Request{Data: in.Body.Data}.DataText()
	out := system.Checked{Project: req.Project, Size: len(text), Problems: []string{}}
	problem := func(err error) {
		if err != nil {
			out.Problems = append(out.Problems, strings.Split(err.Error(), "\n")...)
		}
	}
	problem(req.Validate())
	problem(req.CheckData(text, cfg.MaxData()))
	switch chain, _ := cfg.Dedup(req); { // errors of the plan would list the chains of all projects
	case req.Chain == "" && req.AlertType == "":
		problem(errors.New(`set "chain" or "alert_type"`))
	case !cfg.ChainIn(chain, req.Project) && !strings.HasPrefix(chain, configuration.OfAgent):
		problem(fmt.Errorf("project %s has neither the requested chain nor a chain for the requested alert_type", req.Project))
	default:
		p, err := h.plan(ctx, cfg, req)
		if err != nil && !errors.As(err, new(*configuration.PlanError)) {
			return nil, err
		}
		problem(err)
		out.Chain = p.Chain
		for _, stage := range p.Stages {
			one := system.CheckedStage{Name: stage.Name, Agents: []string{}}
			for _, a := range stage.Agents {
				one.Agents = append(one.Agents, withModel(a))
			}
			out.Stages = append(out.Stages, one)
		}
	}
	masker, err := mask.Of(cfg.AlertMasking())
	if err == nil && masker != nil {
		text, err = masker.Text(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	out.Data = strings.ToValidUTF8(text[:min(len(text), shownOfData)], "")
	return reply(out), nil
}

func (h checks) acts(ctx context.Context, in *system.ActsIn) (*body[system.ActsPage], error) {
	o, err := h.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := system.ActsPage{Items: []audit.Act{}}
	err = h.opts.System.Acts(ctx, record.ActFilter{Investigation: o.ID, After: in.After, Limit: in.Limit + 1}, func(act audit.Act) error {
		if len(out.Items) == in.Limit {
			out.Next = out.Items[in.Limit-1].N
			return nil
		}
		out.Items = append(out.Items, act)
		return nil
	})
	return reply(out), err
}

func (h checks) about(ctx context.Context, _ *struct{}) (*body[system.AboutBody], error) {
	who := accessOf(ctx)
	out := system.AboutBody{Name: who.name, Roles: map[string]string{}, TemporalUI: h.opts.TemporalUI}
	// any order: ranks differ
	for project, r := range who.grants {
		for role, n := range rank { // any order: ranks differ
			if n == r {
				out.Roles[project] = role
			}
		}
	}
	return reply(out), nil
}

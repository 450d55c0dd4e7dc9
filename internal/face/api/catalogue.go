package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/chaindraw"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/system"
)

// catalogue serves the configuration: chains, agent types, values, and the runbooks of its repository.
type catalogue struct {
	base
	books *runbook.Fetcher
}

func newCatalogue(b base) catalogue {
	books := b.opts.Runbooks
	if books == nil {
		books = runbook.New(func() runbook.Settings { return b.opts.Config().Runbooks() })
	}
	return catalogue{b, books}
}

func (h catalogue) routes(to *Server) {
	register(to, system.ListChains, h.chains)
	register(to, system.GetChain, h.chain)
	add(to, system.GetChainGraph.Operation, h.graph)
	to.huma.OpenAPI().Paths[system.GetChainGraph.Path].Get.Responses["200"] = &huma.Response{
		Description: http.StatusText(http.StatusOK), Content: map[string]*huma.MediaType{
			"application/json": {Schema: to.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[system.Drawn](), true, "")},
			"image/svg+xml":    {Schema: &huma.Schema{Type: huma.TypeString}},
		},
	}
	register(to, system.ListAgentTypes, h.agentTypes)
	register(to, system.GetConfig, h.configuration)
	register(to, system.ListRunbooks, h.runbooks)
}

func (h catalogue) chains(ctx context.Context, in *system.ProjectIn) (*body[system.Page[configuration.ChainInfo]], error) {
	project, err := accessOf(ctx).owner(in.Project)
	if err != nil {
		return nil, err
	}
	cfg := h.opts.Config()
	all := slices.DeleteFunc(cfg.Chains(), func(c configuration.ChainInfo) bool { return !cfg.ChainIn(c.Name, project) })
	return reply(system.Page[configuration.ChainInfo]{Items: append([]configuration.ChainInfo{}, all...)}), nil
}

// chainOf returns the name of a chain if the request's project may run it.
func (h catalogue) chainOf(ctx context.Context, in *system.ChainIn) (*configuration.Config, string, error) {
	project, err := accessOf(ctx).owner(in.Project)
	cfg := h.opts.Config()
	if err == nil && !cfg.ChainIn(in.Name, project) {
		err = errHidden
	}
	return cfg, project, err
}

func (h catalogue) chain(ctx context.Context, in *system.ChainIn) (*body[plan.Plan], error) {
	cfg, project, err := h.chainOf(ctx, in)
	if err != nil {
		return nil, err
	}
	p, err := h.plan(ctx, cfg, agent.Request{Chain: in.Name, Labels: agent.Labels{Project: project}})
	return reply(p), err
}

func (h catalogue) graph(ctx context.Context, in *system.GraphIn) (*huma.StreamResponse, error) {
	cfg, _, err := h.chainOf(ctx, &in.ChainIn)
	if err != nil {
		return nil, err
	}
	graph, err := configuration.GraphOf(cfg, in.Name)
	if err != nil {
		return nil, err
	}
	d := chaindraw.New(graph, chaindraw.UnattendedOf(cfg, in.Name))
	kind, text := "image/svg+xml", []byte(d.SVG())
	if in.Format != "svg" {
		kind = "application/json"
		if text, err = json.Marshal(system.Drawn{Graph: graph, Mermaid: d.Mermaid()}); err != nil {
			return nil, err
		}
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", kind)
		_, _ = hc.BodyWriter().Write(text) // an error means that the client has left
	}}, nil
}

func (h catalogue) agentTypes(context.Context, *struct{}) (*body[system.Page[system.AgentType]], error) {
	out := system.Page[system.AgentType]{Items: []system.AgentType{}}
	standard := cmp.Or(h.opts.Config().Defaults.MaxIterations, new(int))
	for _, t := range agent.Types() {
		out.Items = append(out.Items, system.AgentType{
			Type: t.Name, Aliases: t.Aliases, Pattern: t.Pattern, AllowedTools: append([]string{}, t.Tools...), Heartbeats: t.Heartbeats,
			Prompt: t.Prompt, MaxIterations: cmp.Or(t.MaxIterations, *standard),
		})
	}
	return reply(out), nil
}

func (h catalogue) configuration(_ context.Context, in *system.ConfigIn) (*body[system.InForce], error) {
	cfg := h.opts.Config()
	if _, ok := cfg.AgentChains[in.Chain]; !ok && in.Chain != "" {
		return nil, errHidden
	}
	text, values, err := configuration.Show(cfg, configuration.ShowOptions{Chain: in.Chain})
	return reply(system.InForce{
		YAML: string(text), Values: append([]strict.Shown{}, values...), Findings: append(config.Findings{}, cfg.Warnings()...),
	}), err
}

func (h catalogue) runbooks(ctx context.Context, in *system.RunbooksIn) (*body[system.Page[runbook.Found]], error) {
	project, err := accessOf(ctx).owner(in.Project)
	if err != nil {
		return nil, err
	}
	found, err := h.books.List(ctx, project, in.Labels)
	switch {
	case errors.Is(err, runbook.ErrNoRepository):
		return nil, &system.InputError{Err: err}
	case err != nil && ctx.Err() == nil:
		return nil, huma.Error502BadGateway(err.Error())
	}
	return reply(system.Page[runbook.Found]{Items: found}), err
}

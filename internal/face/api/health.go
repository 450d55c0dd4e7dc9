package api

import (
	"context"
	_ "embed"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/inquest-dev/inquest/internal/system"
)

// health says whether the components of the system work.
type health struct {
	base
	tools *tools
}

func (h health) routes(to *Server) {
	register(to, system.IsAlive, func(context.Context, *system.None) (*body[system.Condition], error) {
		return reply(system.ConditionOf("", nil)), nil
	})
	register(to, system.IsReady, h.ready)
	register(to, system.GetHealth, h.conditions)
	if h.opts.Metrics != nil {
		add(to, system.GetMetrics.Operation, h.metrics)
		to.huma.OpenAPI().Paths[system.GetMetrics.Path].Get.Responses["200"] = &huma.Response{
			Description: "metrics", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: "string"}}},
		}
	}
}

func (h health) ready(ctx context.Context, _ *struct{}) (*body[system.Condition], error) {
	for _, c := range h.needs(ctx) {
		if c.Status != "ok" {
			return nil, huma.Error503ServiceUnavailable(c.Name + " is not responding")
		}
	}
	return reply(system.Condition{Status: "ok"}), nil
}

// needs checks the components that nothing works without.
func (h health) needs(ctx context.Context) []system.Condition {
	st, err := h.store(ctx)
	if err == nil {
		_, err = st.Size(ctx)
	}
	return []system.Condition{system.ConditionOf("store", err), system.ConditionOf("temporal", h.opts.System.Ping(ctx))}
}

func (h health) conditions(ctx context.Context, _ *struct{}) (*body[system.Conditions], error) {
	out := system.Conditions{System: h.needs(ctx), Providers: []system.Condition{}, Servers: []string{}}
	cfg := h.opts.Config()
	for _, p := range cfg.Needs().Models {
		c := system.Condition{Name: p.Name, Status: "ok"}
		if problem := cfg.KeyProblem(p); problem != "" {
			c.Status, c.Detail = "failing", problem
		}
		out.Providers = append(out.Providers, c)
	}
	found, err := h.tools.list(ctx, &system.ToolsIn{Type: "mcp"})
	if err == nil {
		out.Servers = append(out.Servers, found.Body.Troubles...)
	}
	return reply(out), err
}

func (h health) metrics(context.Context, *struct{}) (*huma.StreamResponse, error) {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		h.opts.Metrics.ServeHTTP(w, r)
	}}, nil
}

//go:embed docs.html
var docsPage []byte

//go:embed docs.js
var docsScript []byte

func serveDocs(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(docsPage) // an error means that the client has left
}

func serveScript(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(docsScript) // an error means that the client has left
}

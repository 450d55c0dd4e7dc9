package api

import (
	"context"
	_ "embed"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/inquest-dev/inquest/config"
)

func (s *Server) health() {
	probe := func(path, id, summary string) operation {
		return operation{method: http.MethodGet, path: path, id: id, summary: summary}
	}
	register(s, probe("/healthz", "is-alive", "Say that the process runs"), func(context.Context, *struct{}) (*body[condition], error) {
		return &body[condition]{condition{Status: "ok"}}, nil
	})
	register(s, probe("/readyz", "is-ready", "Say whether the store and Temporal answer"), s.ready)
	register(s, operation{method: http.MethodGet, path: base + "/health", id: "get-health", role: config.RoleOperator, everywhere: true,
		summary: "Look at the store, Temporal, the models' keys and the MCP servers"}, s.conditions)
	if s.opts.Metrics != nil {
		register(s, operation{method: http.MethodGet, path: "/metrics", id: "get-metrics", role: config.RoleViewer, everywhere: true,
			summary: "Read metrics in the format of Prometheus"}, s.metrics)
		s.huma.OpenAPI().Paths["/metrics"].Get.Responses["200"] = &huma.Response{
			Description: "metrics", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: "string"}}},
		}
	}
}

// condition is the health of one component.
type condition struct {
	Name   string `json:"name,omitempty"`
	Status string `json:"status" enum:"ok,failing"`
	Detail string `json:"detail,omitempty"`
}

func conditionOf(name string, err error) condition {
	if err != nil {
		return condition{name, "failing", err.Error()}
	}
	return condition{Name: name, Status: "ok"}
}

func (s *Server) ready(ctx context.Context, _ *struct{}) (*body[condition], error) {
	for _, c := range s.needs(ctx) {
		if c.Status != "ok" {
			return nil, huma.Error503ServiceUnavailable(c.Name + " does not answer")
		}
	}
	return &body[condition]{condition{Status: "ok"}}, nil
}

// needs checks the components that nothing works without.
func (s *Server) needs(ctx context.Context) []condition {
	st, err := s.store(ctx)
	if err == nil {
		_, err = st.Size(ctx)
	}
	return []condition{conditionOf("store", err), conditionOf("temporal", s.opts.System.Ping(ctx))}
}

// conditions is the health of all components.
type conditions struct {
	System    []condition `json:"system"`
	Providers []condition `json:"providers" doc:"whether there are keys; no model is asked"`
	Servers   []string    `json:"mcp_servers" doc:"what is wrong with MCP servers and their tools"`
}

func (s *Server) conditions(ctx context.Context, _ *struct{}) (*body[conditions], error) {
	out := conditions{System: s.needs(ctx), Providers: []condition{}, Servers: []string{}}
	cfg := s.opts.Config()
	for _, p := range cfg.Needs().Models {
		c := condition{Name: p.Name, Status: "ok"}
		if problem := cfg.KeyProblem(p); problem != "" {
			c.Status, c.Detail = "failing", problem
		}
		out.Providers = append(out.Providers, c)
	}
	tools, err := s.tools(ctx, &toolsIn{Type: "mcp"})
	if err == nil {
		out.Servers = append(out.Servers, tools.Body.Troubles...)
	}
	return &body[conditions]{out}, err
}

func (s *Server) metrics(context.Context, *struct{}) (*huma.StreamResponse, error) {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		s.opts.Metrics.ServeHTTP(w, r)
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

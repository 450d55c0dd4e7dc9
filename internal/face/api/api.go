// Package api serves Inquest over HTTP for people and programs, on top of internal/client. The OpenAPI document is generated from the
// handlers' types (docs/reference/api.md).
package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/face/mcpserver"
	"github.com/inquest-dev/inquest/internal/face/page"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/webguard"
	"github.com/inquest-dev/inquest/internal/webhook"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	callTimeout   = system.CallTimeout
	maxHeader     = 64 << 10
	maxBody       = system.MaxBody
)

// Options configures an API.
type Options struct {
	System *client.Client
	// Config returns the configuration in force.
	Config func() *configuration.Config
	// Tools returns the tools of a configuration, to list and run them.
	Tools func(ctx context.Context, cfg *configuration.Config) (Tools, error)
	// TemporalUI is the URL of the workflow list in Temporal's UI. An empty string means that it is not known.
	TemporalUI string
	// Metrics serves /metrics; nil means no metrics.
	Metrics http.Handler
	// WithoutHTTP means that only MCP is served, on standard input and output, so the secrets of webhooks are not required.
	WithoutHTTP bool
	// Outgoing sends the requests for Amazon SNS certificates and confirmations; nil means http.DefaultTransport.
	Outgoing http.RoundTripper
	// Runbooks lists the runbooks of a repository; nil means with the settings of Config.
	Runbooks *runbook.Fetcher
	Logger   *slog.Logger
}

// Server serves the API.
type Server struct {
	base
	huma     huma.API
	mux      *http.ServeMux
	door     *doors
	streams  *streams
	webhooks *webhooks
	calls    map[string]call
}

// subject has the handlers of some of the operations.
type subject interface{ routes(to *Server) }

// New returns the API. ctx bounds the work that it does outside requests.
func New(ctx context.Context, opts Options) (*Server, error) {
	b := base{&opts}
	s := &Server{base: b, mux: http.NewServeMux(), streams: newStreams(ctx, b), calls: map[string]call{}}
	s.webhooks = &webhooks{
		base: b, sns: webhook.NewSNS(opts.Outgoing, nil), large: make(chan struct{}, maxLarge), timeout: deliveryTimeout,
	}
	var err error
	if s.door, err = newDoors(ctx, opts); err != nil {
		return nil, err
	}
	if !opts.WithoutHTTP {
		if s.webhooks.hooks, err = opts.Config().Hooks(); err != nil {
			return nil, err
		}
	}
	cfg := huma.DefaultConfig("Inquest", "1")
	cfg.CreateHooks, cfg.DocsPath, cfg.SchemasPath = nil, "", ""
	cfg.RejectUnknownQueryParameters = true
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer"}}
	cfg.Info.Description = "Start, watch and steer investigations by LLM agents, decide on their tool calls, and answer their " +
		"questions."
	cfg.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	cfg.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[plan.Duration](), reflect.TypeFor[string]())
	s.huma = humago.New(s.mux, cfg)
	s.huma.UseMiddleware(s.check, s.door.admit(s.huma), s.webhooks.few(s.huma))
	box := &tools{base: b}
	context.AfterFunc(ctx, box.close)
	for _, of := range []subject{
		investigations{b}, transcripts{b}, checks{b}, steering{b}, s.streams, newCatalogue(b), box,
		agents{base: b, tools: box, runs: investigations{b}}, conversations{b}, memories{b}, learnings{b}, reviews{b}, schedules{b},
		s.webhooks, health{b, box},
	} {
		of.routes(s)
	}
	return s, s.pages()
}

// pages adds the routes that are no operations: the page, the document's page, and MCP.
func (s *Server) pages() error {
	page, err := page.Handler()
	if err != nil {
		return err
	}
	s.mux.Handle("GET /{$}", page)
	s.mux.Handle("GET /page/", page)
	s.mux.Handle(mcpserver.Path, s.mcpHandler(s.mcpTools(s.opts.Config().System.HTTP.MCP.Decide)))
	s.mux.HandleFunc("GET /docs", serveDocs)
	s.mux.HandleFunc("GET /docs/page.js", serveScript)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem(w, http.StatusNotFound, "no such path: see /openapi.json for the operations")
	})
	return nil
}

// schemaName returns the schema name of a type. Types from packages other than the API's own get the package name too, because
// several have an Entry.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if former, ok := formerNames[t]; ok {
		return former
	}
	pkg := path.Base(t.PkgPath())
	if t.Name() == "" || pkg == "api" || pkg == "system" || pkg == "mcpserver" || pkg == "." || pkg == "huma" {
		return name
	}
	return strings.ToUpper(pkg[:1]) + pkg[1:] + name
}

// formerNames are the schema names of types that have moved to another package since.
var formerNames = map[reflect.Type]string{
	reflect.TypeFor[system.ToolInfo]():      "AppToolInfo",
	reflect.TypeFor[system.ToolParameter](): "AppToolParameter",
	reflect.TypeFor[system.AgentCopy]():     "ClientAgentCopy",
	reflect.TypeFor[system.Decided]():       "ClientDecided",
	reflect.TypeFor[system.Thread]():        "ClientThread",

	reflect.TypeFor[configuration.ChainInfo]():  "ConfigChainInfo",
	reflect.TypeFor[configuration.Graph]():      "ConfigGraph",
	reflect.TypeFor[configuration.GraphStage](): "ConfigGraphStage",
	reflect.TypeFor[config.Finding]():           "StrictFinding",
}

// OpenAPI returns the OpenAPI document.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.huma.OpenAPI() }

// Handler serves the API. It accepts only requests for the configured hosts and refuses those from pages of another origin.
func (s *Server) Handler() http.Handler {
	guarded := webguard.Handler(http.MaxBytesHandler(s.mux, system.MaxData+maxBody), s.opts.Config().System.HTTP.Hosts...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", page.Policy)
		guarded.ServeHTTP(w, r)
	})
}

// ErrOpen is returned when an API without authentication would be reachable from other hosts.
var ErrOpen = errors.New("the API has no authentication, and this is not a loopback address: configure tokens " +
	"(system.http.tokens) or an identity provider (system.http.oidc)")

// Listen opens a listener on an address if the API may be served there.
func (s *Server) Listen(address string) (net.Listener, error) {
	if !command.Loopback(address) && s.opts.Config().System.HTTP.Open() {
		return nil, ErrOpen
	}
	return net.Listen("tcp", address)
}

// Serve serves until ctx ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	return command.Serve(ctx, &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}, listener)
}

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
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/web"
	"github.com/inquest-dev/inquest/internal/webguard"
	"github.com/inquest-dev/inquest/internal/webhook"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	callTimeout   = 30 * time.Second // for operations that are neither streams nor conversations
	maxHeader     = 64 << 10
	maxBody       = 1 << 20
)

// Options configures an API.
type Options struct {
	System *client.Client
	// Config returns the configuration in force.
	Config func() *config.Config
	// Tools returns the tools of a configuration, to list and run them.
	Tools func(ctx context.Context, cfg *config.Config) (Tools, error)
	// TemporalUI is the URL of the workflow list in Temporal's UI. An empty string means that it is not known.
	TemporalUI string
	// Metrics serves /metrics; nil means no metrics.
	Metrics http.Handler
	// WithoutHTTP means that only MCP is served, on standard input and output, so the secrets of webhooks are not required.
	WithoutHTTP bool
	// Outgoing sends the requests for Amazon SNS certificates and confirmations; nil means http.DefaultTransport.
	Outgoing http.RoundTripper
	Logger   *slog.Logger
}

// Server serves the API.
type Server struct {
	opts  Options
	huma  huma.API
	mux   *http.ServeMux
	door  *doors
	feeds feeds
	list  listFeed
	box   toolCache
	hooks map[string]config.Hook
	sns   *webhook.SNS
	seats seats
	// checkEvery is how often a stream checks that its token is still valid.
	checkEvery time.Duration
	large      chan struct{} // bounds the large deliveries from senders without a token
	// waiting limits the tool calls that may wait. Each of them takes one slot.
	waiting chan struct{}
}

// New returns the API. ctx bounds the work that it does outside requests.
func New(ctx context.Context, opts Options) (*Server, error) {
	s := &Server{opts: opts, mux: http.NewServeMux(), large: make(chan struct{}, maxLarge), waiting: make(chan struct{}, maxWaiting)}
	s.seats.taken, s.checkEvery = map[string]int{}, checkEvery
	s.sns = webhook.NewSNS(opts.Outgoing, nil)
	var err error
	if s.door, err = newDoors(ctx, opts); err != nil {
		return nil, err
	}
	if !opts.WithoutHTTP {
		if s.hooks, err = opts.Config().Hooks(); err != nil {
			return nil, err
		}
	}
	s.feeds, s.list = newFeeds(ctx, opts.System), newListFeed(ctx, opts.System)
	context.AfterFunc(ctx, s.box.close)
	cfg := huma.DefaultConfig("Inquest", "1")
	cfg.CreateHooks, cfg.DocsPath, cfg.SchemasPath = nil, "", ""
	cfg.RejectUnknownQueryParameters = true
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer"}}
	cfg.Info.Description = "Investigations by agents: start, watch and steer them, decide and answer what waits for people."
	cfg.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	cfg.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[plan.Duration](), reflect.TypeFor[string]())
	s.huma = humago.New(s.mux, cfg)
	s.huma.UseMiddleware(s.check, s.door.admit(s.huma), s.few)
	s.investigations()
	s.transcripts()
	s.checks()
	s.steering()
	s.streams()
	s.catalogue()
	s.agents()
	s.conversations()
	s.memories()
	s.webhooks()
	s.health()
	page, err := web.Handler()
	if err != nil {
		return nil, err
	}
	s.mux.Handle("GET /{$}", page)
	s.mux.Handle("GET /page/", page)
	decide := opts.Config().System.HTTP.MCP.Decide
	s.mux.Handle(mcpPath, s.mcpHandler(func(rank int) *mcp.Server { return s.newMCP(rank, decide) }))
	s.mux.HandleFunc("GET /docs", serveDocs)
	s.mux.HandleFunc("GET /docs/page.js", serveScript)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { problem(w, http.StatusNotFound, "there is no such page") })
	return s, nil
}

// schemaName returns the schema name of a type. Types from other packages get the package name too, because several have an Entry.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	pkg := path.Base(t.PkgPath())
	if t.Name() == "" || pkg == "api" || pkg == "." || pkg == "huma" {
		return name
	}
	return strings.ToUpper(pkg[:1]) + pkg[1:] + name
}

// OpenAPI returns the OpenAPI document.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.huma.OpenAPI() }

// Handler serves the API. It accepts only requests for the configured hosts and refuses those from pages of another origin.
func (s *Server) Handler() http.Handler {
	guarded := webguard.Handler(http.MaxBytesHandler(s.mux, maxData+maxBody), s.opts.Config().System.HTTP.Hosts...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", web.Policy)
		guarded.ServeHTTP(w, r)
	})
}

// ErrOpen is returned when an API without authentication would be reachable from other hosts.
var ErrOpen = errors.New("the API asks nobody who they are, and this address is no loopback address: " +
	"give tokens (system.http.tokens) or an identity provider (system.http.oidc)")

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

// operation describes one operation.
type operation struct {
	method, path, id, summary string
	// role is the least role that may use the operation. An empty string means that anyone may, without a token.
	role string
	// everywhere means that the operation belongs to no project and requires the role in all projects.
	everywhere bool
	// stream means that the response continues until the client leaves.
	stream bool
	status int
	body   int64 // bytes; zero means maxBody
	// signed returns the identity of a sender without a token, whose signature the operation checks from the body. Nil means that a token
	// is required.
	signed func(name string) (identity, bool)
	// lenient means that the operation validates its body itself.
	lenient bool
}

// register adds an operation to the API.
func register[I, O any](s *Server, o operation, serve func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		Method: o.method, Path: o.path, OperationID: o.id, Summary: o.summary, DefaultStatus: o.status, MaxBodyBytes: o.body,
		BodyReadTimeout: callTimeout, Metadata: map[string]any{"operation": o}, Errors: []int{http.StatusBadRequest},
		SkipValidateBody: o.lenient || o.signed != nil, // the signature has not been checked yet
	}
	if o.role != "" {
		op.Security = []map[string][]string{{"bearer": {}}}
		op.Extensions = map[string]any{"x-role": o.role}
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict,
			http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
	}
	huma.Register(s.huma, op, func(ctx context.Context, in *I) (*O, error) {
		if !o.stream {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, callTimeout)
			defer cancel()
		}
		out, err := serve(ctx, in)
		return out, s.explain(ctx, o.id, err)
	})
}

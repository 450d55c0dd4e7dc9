// Package mcp lists and calls the tools of MCP servers, with the official SDK.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Transport says how a server is started. Its values are expanded already, so
// the environment may hold secrets: they are kept out of errors and logs.
type Transport struct {
	Command string
	Args    []string
	// Env is added to the little that a server is given of the worker's environment.
	Env map[string]string
	// Timeout bounds the start and every request; 0 = a minute for the start,
	// and for requests only what ctx says.
	Timeout time.Duration
}

// Options are what a Pool needs.
type Options struct {
	// Transport finds a server's transport by the server's name.
	Transport func(server string) (Transport, error)
	// Logger gets the servers' standard error, at debug level; nil discards.
	Logger *slog.Logger
	// StderrLimit is how much of a server's standard error is kept, in bytes; 0 = 4 KiB.
	StderrLimit int
	// MessageLimit is the longest message that a server may send, in bytes; 0 = 64 MiB.
	MessageLimit int
}

// Pool holds one session per server: a process, started when it is first needed,
// shared by all calls, and started anew when it has died. It implements
// tool.Caller, and is safe for concurrent use.
type Pool struct {
	opts   Options
	client *mcp.Client

	mu       sync.Mutex
	sessions map[string]*session
	closed   bool
	running  sync.WaitGroup // one for every session whose process may be alive
}

var _ tool.Caller = (*Pool)(nil)

var errClosed = errors.New("the pool is closed")

// New returns a pool without sessions. Close it.
func New(opts Options) *Pool {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.StderrLimit = cmp.Or(opts.StderrLimit, 4<<10)
	opts.MessageLimit = cmp.Or(opts.MessageLimit, 64<<20)
	client := mcp.NewClient(&mcp.Implementation{Name: "inquest", Version: "1"}, &mcp.ClientOptions{
		Logger: opts.Logger,
		// Without capabilities: a filesystem server replaces its own roots by those
		// of a client that says it has any.
		Capabilities: &mcp.ClientCapabilities{},
		// One call is one request: the SDK would send a call again by itself.
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	return &Pool{opts: opts, client: client, sessions: map[string]*session{}}
}

// List returns the tools of a server, every page of them. A session that has
// died is replaced once.
func (p *Pool) List(ctx context.Context, server agent.Server) ([]tool.Spec, error) {
	for attempt := 1; ; attempt++ {
		s, err := p.session(ctx, server.Name)
		if err != nil {
			return nil, err
		}
		specs, err := s.list(ctx, server)
		if err == nil || ctx.Err() != nil || !s.ended() || attempt > 1 {
			return specs, err
		}
	}
}

// Call calls a tool once. A session that was dead before the request was
// written is replaced; one that dies later is not: the tool may have run.
func (p *Pool) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	server, own := tool.Split(call.Name)
	if server == "" {
		return tool.Failure(tool.ErrorUnknownTool, fmt.Sprintf("Unknown tool %q: it names no server.", own)), nil
	}
	for attempt := 1; ; attempt++ {
		s, err := p.session(ctx, server)
		if err != nil && ctx.Err() != nil {
			return interrupted(call.Name, ctx.Err())
		}
		if err != nil {
			return tool.Failure(tool.ErrorUnavailable, tool.ValidText(err.Error())), nil
		}
		result, sent, err := s.call(ctx, own, call)
		if err == nil {
			return result, nil
		}
		if sent || ctx.Err() != nil || !s.ended() || attempt > 1 {
			return s.failure(call.Name, err)
		}
	}
}

// Close ends every session, within about three seconds. Calls that are under
// way end with a result that says so.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.sessions {
		s.stop()
	}
	p.mu.Unlock()
	p.running.Wait()
}

// session returns the server's session, once it is ready. Callers that come
// while it starts wait for the same one; it does not depend on any one of them.
func (p *Pool) session(ctx context.Context, server string) (*session, error) {
	s, err := p.lookup(ctx, server)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.ready:
		return s, s.err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for MCP server %s: %w", server, ctx.Err())
	}
}

func (p *Pool) lookup(ctx context.Context, server string) (*session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if s := p.sessions[server]; s != nil && !s.ended() {
		return s, nil
	}
	transport, err := p.opts.Transport(server)
	if err != nil {
		return nil, fmt.Errorf("find MCP server %s: %w", server, err)
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := newSession(server, transport, stop)
	p.sessions[server] = s
	p.running.Go(func() { s.run(life, p.client, p.opts) })
	return s, nil
}

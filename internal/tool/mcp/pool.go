// Package mcp lists and calls the tools of MCP servers, with the official SDK.
package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Options configure a Pool.
type Options struct {
	// Transport returns a server's transport by the server's name.
	Transport func(server string) (Transport, error)
	// Logger gets the servers' standard error, at debug level. Nil discards it.
	Logger *slog.Logger
	// StderrLimit is how much of a server's standard error is kept, in bytes. Zero means 4 KiB.
	StderrLimit int
	// MessageLimit is the longest message that a server may send, in bytes. Zero means 64 MiB.
	MessageLimit int
	// ExecutionLimit is how many sessions of single executions are kept. Another one ends the least recently used. Zero
	// means 100.
	ExecutionLimit int
	// ExecutionIdle is how long such a session is kept unused. Zero means one hour.
	ExecutionIdle time.Duration
	// PingTimeout is how long a server that did not answer a call in time may take to answer a ping before it is
	// replaced. Zero means five seconds.
	PingTimeout time.Duration
	// CheckAfter is how long a session over HTTP may be idle before a call that must not be sent twice is preceded by a
	// ping, which checks whether the server still knows the session. Zero means two seconds.
	CheckAfter time.Duration
	// Elicit declares that people can be asked: servers' questions go to the Ask of the call in progress.
	Elicit bool
	// LateLimit is how long to wait for the answer to an abandoned call. Zero means ten minutes.
	LateLimit time.Duration
}

// Pool holds one session per server, which is opened when first needed, shared by all calls, and replaced when it has
// died. If the transport requires it, there is one session per server and execution. Pool implements tool.Caller, and
// is safe for concurrent use.
type Pool struct {
	opts Options
	// unnamed replaces a missing execution.
	unnamed string

	mu       sync.Mutex
	sessions map[name]*entry
	alive    map[*session]bool       // all that are not gone, including replaced ones
	progress map[string]func(string) // of the calls in progress, by key
	closed   bool
	late     chan struct{}  // has a slot for each late answer that is waited for
	running  sync.WaitGroup // counts them
}

var _ tool.Caller = (*Pool)(nil)

var errClosed = errors.New("the MCP connections are closed")

// New returns a pool without sessions. Close it.
func New(opts Options) *Pool {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	opts.StderrLimit = cmp.Or(opts.StderrLimit, 4<<10)
	opts.MessageLimit = cmp.Or(opts.MessageLimit, 64<<20)
	opts.ExecutionLimit = cmp.Or(opts.ExecutionLimit, 100)
	opts.ExecutionIdle = cmp.Or(opts.ExecutionIdle, time.Hour)
	opts.PingTimeout = cmp.Or(opts.PingTimeout, 5*time.Second)
	opts.CheckAfter = cmp.Or(opts.CheckAfter, 2*time.Second)
	opts.LateLimit = cmp.Or(opts.LateLimit, 10*time.Minute)
	p := &Pool{
		opts: opts, unnamed: "list-" + rand.Text(),
		sessions: map[name]*entry{}, alive: map[*session]bool{}, progress: map[string]func(string){},
		late: make(chan struct{}, maxLate),
	}
	return p
}

// newClient returns the client of a session. It declares roots only if the configuration names some, because a
// filesystem server replaces its own roots by those of a client that declares the capability.
func (p *Pool) newClient(roots []string) *mcp.Client {
	opts := &mcp.ClientOptions{
		Logger:       p.opts.Logger,
		Capabilities: &mcp.ClientCapabilities{},
		// One call is one request; otherwise the SDK would resend calls itself.
		MultiRoundTrip:              &mcp.MultiRoundTripOptions{Disabled: true},
		ProgressNotificationHandler: p.onProgress,
	}
	if p.opts.Elicit {
		opts.ElicitationHandler = p.elicit
	}
	if len(roots) > 0 {
		//lint:ignore SA1019 servers of today know no other way to be told of folders
		opts.Capabilities.RootsV2 = &mcp.RootCapabilities{}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "inquest", Version: "1"}, opts)
	for _, root := range roots {
		//lint:ignore SA1019 see above
		client.AddRoots(&mcp.Root{URI: (&url.URL{Scheme: "file", Path: root}).String(), Name: path.Base(root)})
	}
	return client
}

// List returns the current tools of a server, from all pages, for an execution (empty means none). A session that has
// died is replaced once. The error is a *tool.ServerError. If it is Partial, List also returns the tools that it could read.
func (p *Pool) List(ctx context.Context, server plan.Server, execution string) ([]tool.Spec, error) {
	specs, err := p.list(ctx, server, execution)
	if err != nil {
		failed := &tool.ServerError{Why: why(err), Away: away(err), Err: err, NotStarted: errors.Is(err, errStart), Partial: len(specs) > 0}
		if starting, ok := errors.AsType[*startingError](err); ok {
			failed.Pending, failed.Running = max(starting.pending, 1), starting.running
			failed.Output = starting.session.output.lastLine()
		}
		return tool.Bounded(specs), failed
	}
	return tool.Bounded(specs), nil
}

func (p *Pool) list(ctx context.Context, server plan.Server, execution string) ([]tool.Spec, error) {
	for attempt := 1; ; attempt++ {
		s, err := p.session(ctx, server.Name, cmp.Or(execution, p.unnamed), nil)
		if err != nil {
			return nil, err
		}
		if err := s.usable(ctx, false); err != nil && (!s.ended() || attempt > 1) {
			return nil, fmt.Errorf("list tools of MCP server %s: %w", server.Name, err)
		}
		specs, err := s.list(ctx, server)
		if err != nil && ctx.Err() != nil {
			err = newStartingError(s, err)
		}
		if errors.Is(err, errCut) {
			s.wire.fail(err) // lists may be requested again, but not over this connection
		}
		if err == nil || ctx.Err() != nil || !s.ended() || attempt > 1 {
			return specs, err
		}
	}
}

// Call calls a tool. The request is sent once, with one exception: a call that may be repeated is sent again if the
// server answers that it does not know the session. Sessions that died before the request was sent are replaced.
func (p *Pool) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	server, own := tool.Split(call.Name)
	if server == "" {
		return tool.Failure(tool.ErrorUnknownTool, fmt.Sprintf("Unknown tool %q: the name does not include a server.", own)), nil
	}
	defer p.listen(call)()
	for attempt, sent := 1, call.Sent; ; attempt++ {
		s, err := p.session(ctx, server, cmp.Or(call.Session, p.unnamed), time.After(p.opts.PingTimeout/5))
		if err == nil {
			if err = s.usable(ctx, !call.Repeatable()); err != nil && ctx.Err() == nil && s.ended() && attempt < maxAttempts {
				continue
			}
			if err != nil {
				err = s.secrets.redactError(unusable(call.Name, server, sent, err))
			}
		} else if errors.Is(err, errSilent) {
			err = unusable(call.Name, server, sent, err)
		}
		if err != nil && ctx.Err() != nil {
			return notReady(call.Name, server, sent, ctx.Err())
		}
		if err != nil && sent > 0 {
			err = fmt.Errorf("%s The next attempt failed: %w", alreadySent(call.Name, sent), err)
		}
		if err != nil {
			result := tool.Failure(tool.ErrorUnavailable, tool.ValidText(err.Error()))
			result.Sent, result.Sends, result.Away = sent > 0, sent, away(err)
			return result, nil
		}
		got, sends, barred := s.call(ctx, own, call, p.late)
		sent += sends
		if barred != nil {
			return tool.Result{}, barred
		}
		if got.err == nil {
			got.result.Sends = sent
			return got.result, nil
		}
		refused, _ := errors.AsType[*statusError](got.err)
		retry := sends == 0 || call.Repeatable() && refused != nil && refused.lost
		if !retry || ctx.Err() != nil || !s.ended() || attempt >= maxAttempts {
			return s.failure(call, sent, got.err)
		}
	}
}

// unusable is the error of a call whose request cannot be sent over the server's session. sent counts its earlier requests.
func unusable(name, server string, sent int, err error) error {
	err = fmt.Errorf("MCP server %s: %w", server, err)
	if sent == 0 {
		err = fmt.Errorf("Tool %s was not called: %w", name, err)
	}
	return err
}

// maxAttempts is how many sessions a call may need.
const maxAttempts = 3

// Open reports whether an execution can call a server at once in an open session.
func (p *Pool) Open(server, execution string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range []name{{server: server}, {server, execution}} {
		if e := p.sessions[n]; e != nil && closed(e.session.ready) && !e.session.ended() {
			return true
		}
	}
	return false
}

// End ends an execution's own sessions when their calls have ended. It does not wait. Without it, they end after
// ExecutionIdle, or when others replace them.
func (p *Pool) End(execution string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := range p.sessions {
		if n.execution != "" && n.execution == execution {
			p.drop(n)
		}
	}
}

// Close ends every session, within about three seconds. Calls in progress end with a result that says so.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for n := range p.sessions {
		p.drop(n)
	}
	for s := range p.alive {
		s.stop()
	}
	p.mu.Unlock()
	p.running.Wait()
}

// session returns the session of a server, or of a server and an execution if required, once it is ready. Concurrent
// callers wait for the same session, which does not depend on any of them. If the server did not answer in the previous
// session, the caller waits only until soon, unless that is nil.
func (p *Pool) session(ctx context.Context, server, execution string, soon <-chan time.Time) (*session, error) {
	s, err := p.lookup(ctx, server, execution)
	if err != nil {
		return nil, err
	}
	if !s.transport.remote() || s.startLimit == 0 {
		soon = nil
	}
	select {
	case <-s.ready:
		if soon != nil && errors.Is(s.err, errLate) {
			return nil, errSilent
		}
		return s, s.err
	case <-soon:
		return nil, errSilent
	case <-ctx.Done():
		return nil, newStartingError(s, fmt.Errorf("wait for MCP server %s: %w", server, ctx.Err()))
	}
}

// startingError means that ctx ended before a server had listed its tools.
type startingError struct {
	session *session
	pending time.Duration
	running bool
	err     error
}

func newStartingError(s *session, err error) *startingError {
	since, running := s.began, s.transport.remote()
	if asked := s.asked.Load(); asked != nil {
		since, running = *asked, true
	}
	return &startingError{session: s, pending: time.Since(since), running: running, err: err}
}

func (e *startingError) Error() string {
	text := fmt.Sprintf("start MCP server %s: it has not listed its tools after %s", e.session.server, e.pending.Round(time.Second))
	if line := e.session.output.lastLine(); line != "" {
		text += "; last output: " + line
	}
	return text
}

func (e *startingError) Unwrap() error { return e.err }

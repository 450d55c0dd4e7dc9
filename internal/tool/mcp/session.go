package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// protocolVersion is what we open a session with. The SDK's latest begins with a
// request that older servers have never heard of, and some never answer.
const protocolVersion = "2025-11-25"

const defaultStartTimeout = time.Minute

// session is one conversation with a server: one life of a process, or what
// lies between initialize and DELETE over HTTP.
type session struct {
	server    string
	transport Transport
	secrets   secrets
	after     <-chan struct{} // closed when a predecessor of the same name is gone; nil = none
	opened    atomic.Bool     // this one, or one that it replaces, has been ready
	pulse     pulse
	// patience is how long the server may take to answer a ping; checkAfter is how long the session may be unused
	// before a call that must not be sent twice is preceded by one.
	patience, checkAfter time.Duration
	// lateLimit is how long the answer to a call that was given up is waited for.
	lateLimit time.Duration
	// startLimit is how long the server may take to answer initialize if the session before this one was given up because
	// the server did not answer. Zero means the transport's own limit.
	startLimit time.Duration

	stop    func()        // ends the session and the calls that are under way
	stopped chan struct{} // closed by stop
	leave   func(final bool)
	left    chan struct{} // closed by leave: the pool has no use for the session
	final   bool          // nor for another one in its place; set before left is closed
	gone    chan struct{} // closed when nothing is left of the session

	ready  chan struct{} // closed when the fields below are set
	err    error         // why there is no session
	wire   wire
	client *mcp.ClientSession
}

func newSession(server string, transport Transport, opts Options) *session {
	s := &session{
		server:   server,
		patience: opts.PingTimeout, checkAfter: opts.CheckAfter, lateLimit: opts.LateLimit,
		transport: transport, secrets: transport.secrets(),
		stopped: make(chan struct{}), left: make(chan struct{}), gone: make(chan struct{}), ready: make(chan struct{}),
	}
	s.stop = sync.OnceFunc(func() { close(s.stopped) })
	var once sync.Once
	s.leave = func(final bool) {
		once.Do(func() {
			s.final = final
			close(s.left)
		})
	}
	return s
}

// run opens the session, and returns when it is over and nothing is left of it.
func (s *session) run(ctx context.Context, client *mcp.Client, opts Options) {
	defer close(s.gone)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	logger := opts.Logger.With("server", s.server)
	if s.after != nil {
		<-s.after // its last words to the server must not be taken for ours
	}
	s.err = s.open(ctx, client, opts, logger)
	s.opened.Store(s.opened.Load() || s.err == nil)
	close(s.ready)
	s.finish()
	<-s.left // until then, it may be that a successor takes over
	s.cleanup(ctx, logger)
}

// open gets the session ready for calls. It must not be used if that is an error.
func (s *session) open(ctx context.Context, client *mcp.Client, opts Options, logger *slog.Logger) (err error) {
	s.wire, err = openWire(s.transport, s.secrets, s.stopped, s.pulse.hear, opts, logger)
	if err != nil {
		return s.secrets.redactError(fmt.Errorf("%w %s: %w", errStart, s.server, err))
	}
	go func() {
		select {
		case <-s.stopped:
			s.wire.fail(errClosed)
		case <-s.gone:
		}
	}()
	if err := s.connect(ctx, client); err != nil {
		s.wire.fail(err)
		return s.secrets.redactError(fmt.Errorf("start MCP server %s: %w%s", s.server, err, s.wire.lastWords()))
	}
	go func() {
		s.client.Wait()
		s.wire.fail(mcp.ErrConnectionClosed)
	}()
	return nil
}

// connect does the handshake. The SDK bounds it by ctx only in part, so the end
// of its time ends the wire as well; and ctx may not end later, because an SSE
// connection lives with it.
func (s *session) connect(ctx context.Context, client *mcp.Client) (err error) {
	ctx, receipt := withReceipt(ctx)
	timeout := cmp.Or(s.transport.Timeout.D(), defaultStartTimeout)
	if _, ok := s.wire.(*web); ok && s.startLimit > 0 {
		timeout = min(timeout, s.startLimit)
	}
	late := fmt.Errorf("%w within %s", errLate, timeout)
	timer := time.AfterFunc(timeout, func() {
		receipt.giveUp(late)
		s.wire.fail(late)
	})
	defer timer.Stop()
	defer s.abort(receipt)()
	s.client, err = client.Connect(ctx, s.wire, &mcp.ClientSessionOptions{ProtocolVersion: protocolVersion})
	if err != nil && context.Cause(ctx) == late {
		return late
	}
	return s.explain(ctx, err)
}

// finish ends a session that is of no use any more, once the calls that are
// under way have ended.
func (s *session) finish() {
	if s.wire == nil {
		return
	}
	select {
	case <-s.wire.ended():
	case <-s.left:
	case <-s.stopped:
	}
	if s.client != nil {
		s.client.Close()
	}
	s.wire.fail(errClosed)
	s.wire.release()
}

// cleanup calls the session_cleanup_url if this was the last session of its
// name. That is best effort: servers forget sessions by themselves, too.
func (s *session) cleanup(ctx context.Context, logger *slog.Logger) {
	web, ok := s.wire.(*web)
	if !ok || !s.final || !s.opened.Load() || s.transport.SessionCleanupURL == "" {
		return
	}
	if err := web.cleanup(ctx); err != nil {
		logger.Warn("MCP session is not cleaned up", "error", err)
	}
}

// nextStartLimit is the startLimit of the session that replaces this one. A server that hangs costs the next call one
// ping's time and not a minute. The limit doubles with each attempt, because a server may need longer than a ping to
// start.
func (s *session) nextStartLimit() time.Duration {
	switch {
	case !closed(s.ready):
		return 0
	case s.startLimit > 0 && errors.Is(s.err, errLate):
		return 2 * s.startLimit
	case s.err == nil && s.silent():
		return s.patience
	}
	return 0
}

// silent reports whether the session was given up because the server did not answer pings.
func (s *session) silent() bool {
	return closed(s.ready) && s.err == nil && closed(s.wire.ended()) && errors.Is(s.wire.why(), errSilent)
}

// ended reports whether the session cannot be used any more.
func (s *session) ended() bool {
	if closed(s.left) {
		return true
	}
	if !closed(s.ready) {
		return false // it starts
	}
	return s.err != nil || closed(s.wire.ended())
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

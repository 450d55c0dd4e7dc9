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

// protocolVersion is the version with which sessions are opened. The SDK's latest version begins with a request that
// older servers do not know, and that some never answer.
const protocolVersion = "2025-11-25"

// How long a server may take to answer initialize, unless its transport says so. A process may first have to download its
// program. Agents do not wait that long for it, but a process that is stopped earlier would have to begin again.
const (
	defaultStartTimeout = time.Minute
	processStartTimeout = 10 * time.Minute
)

// session is one conversation with a server: the lifetime of a process or, over HTTP, the time between initialize and
// DELETE.
type session struct {
	server    string
	logger    *slog.Logger // names the server
	transport Transport
	secrets   secrets
	after     <-chan struct{} // closed when the predecessor of the same name is gone; nil if there is none
	opened    atomic.Bool     // this session, or one that it replaces, has been ready
	began     time.Time       // when the session began to be opened
	// asked is when the server was first asked for its tools since it last listed them; nil if it has not been.
	asked  atomic.Pointer[time.Time]
	output *tail // of a process
	pulse  pulse
	// patience is how long the server may take to answer a ping. checkAfter is how long the session may be idle before
	// a call that must not be sent twice is preceded by a ping.
	patience, checkAfter time.Duration
	// lateLimit is how long to wait for the answer to an abandoned call.
	lateLimit time.Duration
	// startLimit is how long the server may take to answer initialize if it did not answer in the previous session. Zero
	// means the transport's own limit. It has no effect on processes.
	startLimit time.Duration

	stop    func()        // ends the session and its calls
	stopped chan struct{} // closed by stop
	leave   func(final bool)
	left    chan struct{} // closed by leave: the pool no longer needs the session
	final   bool          // nor a successor; set before left is closed
	gone    chan struct{} // closed when nothing is left of the session

	ready  chan struct{} // closed when the fields below are set
	err    error         // why the session could not be opened
	wire   wire
	client *mcp.ClientSession
}

func newSession(server string, transport Transport, opts Options) *session {
	s := &session{
		server: server, logger: opts.Logger.With("server", server),
		patience: opts.PingTimeout, checkAfter: opts.CheckAfter, lateLimit: opts.LateLimit,
		transport: transport, secrets: transport.secrets(), began: time.Now(),
		stopped: make(chan struct{}), left: make(chan struct{}), gone: make(chan struct{}), ready: make(chan struct{}),
	}
	s.output = newTail(opts.StderrLimit, s.secrets, s.logger)
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

// run opens the session, and returns when it has ended completely. It calls ended when the session can no longer be used.
func (s *session) run(ctx context.Context, client *mcp.Client, opts Options, ended func()) {
	defer close(s.gone)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.after != nil {
		<-s.after // its last messages to the server must not be mistaken for ours
	}
	s.err = s.open(ctx, client, opts)
	s.opened.Store(s.opened.Load() || s.err == nil)
	close(s.ready)
	s.finish()
	ended()
	<-s.left // until then, a successor may take over
	s.cleanup(ctx)
}

// open prepares the session for calls. After an error it must not be used.
func (s *session) open(ctx context.Context, client *mcp.Client, opts Options) (err error) {
	s.wire, err = openWire(s.transport, s.output, s.stopped, s.pulse.touch, opts, s.logger)
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

// connect performs the handshake. The SDK applies ctx only to a part of it, so its timeout also ends the wire. ctx must
// not end later, because an SSE connection lives as long as it does.
func (s *session) connect(ctx context.Context, client *mcp.Client) (err error) {
	ctx, receipt := withReceipt(ctx, s.wire.answers())
	longest, remote := processStartTimeout, s.transport.remote()
	if remote {
		longest = defaultStartTimeout
	}
	timeout := cmp.Or(s.transport.Timeout.D(), longest)
	if remote && s.startLimit > 0 {
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

// finish ends a session that is no longer needed, once its calls have ended.
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

// cleanup calls the session_cleanup_url if this was the last session of its name. Errors are only logged, because
// servers also drop sessions by themselves.
func (s *session) cleanup(ctx context.Context) {
	web, ok := s.wire.(*web)
	if !ok || !s.final || !s.opened.Load() || s.transport.SessionCleanupURL == "" {
		return
	}
	if err := web.cleanup(ctx); err != nil {
		s.logger.Warn("MCP session was not cleaned up", "error", err)
	}
}

// nextStartLimit returns the startLimit of the next session. The limit doubles with each attempt, because a server may
// need longer than a ping to start.
func (s *session) nextStartLimit() time.Duration {
	switch {
	case !closed(s.ready):
		return 0
	case errors.Is(s.err, errLate):
		return cmp.Or(min(2*s.startLimit, time.Hour), s.transport.Timeout.D(), defaultStartTimeout)
	case s.err == nil && s.silent():
		return s.patience
	}
	return 0
}

// silent reports whether the session was given up because the server did not answer pings.
func (s *session) silent() bool {
	return closed(s.ready) && s.err == nil && closed(s.wire.ended()) && errors.Is(s.wire.why(), errSilent)
}

// ended reports whether the session can no longer be used.
func (s *session) ended() bool {
	if closed(s.left) {
		return true
	}
	if !closed(s.ready) {
		return false // still starting
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

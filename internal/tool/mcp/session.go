package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/tool"
)

// protocolVersion is what we open a session with. The SDK's latest begins with a
// request that older servers have never heard of, and some never answer.
const protocolVersion = "2025-11-25"

// metaKey is where a call's idempotency key stands in its _meta.
const metaKey = "inquest/idempotencyKey"

const defaultStartTimeout = time.Minute

// session is one life of a server's process.
type session struct {
	server    string
	transport Transport
	stop      context.CancelFunc // ends the session, also while it starts
	ready     chan struct{}      // closed when the fields below are set
	err       error              // why there is no session
	conn      *conn
	client    *mcp.ClientSession
}

func newSession(server string, transport Transport, stop context.CancelFunc) *session {
	return &session{server: server, transport: transport, stop: stop, ready: make(chan struct{})}
}

// run starts the server and returns when it has ended and its process is gone.
func (s *session) run(ctx context.Context, client *mcp.Client, opts Options) {
	defer s.stop()
	logger := opts.Logger.With("server", s.server)
	stderr := newTail(opts.StderrLimit, s.transport.Env, logger)
	proc, err := startProcess(s.transport, stderr)
	if err != nil {
		s.err = fmt.Errorf("start MCP server %s: %s", s.server, stderr.redact(err.Error()))
		close(s.ready)
		return
	}
	s.conn = newConn(proc, opts.MessageLimit, logger)
	defer context.AfterFunc(ctx, func() { s.conn.fail(errClosed) })()
	if err := s.connect(ctx, client); err != nil {
		s.conn.fail(err)
		s.err = fmt.Errorf("start MCP server %s: %s", s.server, stderr.redact(err.Error()+proc.lastWords()))
	}
	close(s.ready)
	<-s.conn.done
	<-proc.exited
}

// connect does the handshake. The SDK does not bound it by ctx if the server
// does not read, so the end of ctx ends the connection.
func (s *session) connect(ctx context.Context, client *mcp.Client) (err error) {
	timeout := cmp.Or(s.transport.Timeout, defaultStartTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	late := fmt.Errorf("no answer to initialize within %s", timeout)
	defer context.AfterFunc(ctx, func() { s.conn.fail(late) })()
	s.client, err = client.Connect(ctx, s.conn, &mcp.ClientSessionOptions{ProtocolVersion: protocolVersion})
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return late
	}
	return err
}

// ended reports whether the session cannot be used any more.
func (s *session) ended() bool {
	select {
	case <-s.ready:
	default:
		return false // it starts
	}
	return s.err != nil || s.conn.ended()
}

// call sends one request. sent says whether the server may have seen it.
func (s *session) call(ctx context.Context, own string, call tool.Call) (result tool.Result, sent bool, err error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	ctx, receipt := withReceipt(ctx)
	answer, err := s.client.CallTool(ctx, &mcp.CallToolParams{
		Meta:      mcp.Meta{metaKey: call.Key},
		Name:      own,
		Arguments: arguments(call.Arguments),
	})
	if err != nil {
		return tool.Result{}, receipt.Load(), err
	}
	return convert(answer), true, nil
}

// bounded applies the server's own timeout.
func (s *session) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.transport.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.transport.Timeout)
}

func arguments(args json.RawMessage) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage("{}")
	}
	return args
}

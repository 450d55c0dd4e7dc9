package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wire is the connection of a session to its server: a process, or HTTP. The SDK uses it, and it records what the SDK
// does not report: whether a request may have reached the server (its receipt), and why an answer did not arrive.
type wire interface {
	mcp.Transport
	// fail ends the wire. Only the first reason is kept.
	fail(err error)
	// ended is closed when the wire can no longer be used. why then returns the reason.
	ended() <-chan struct{}
	why() error
	// remembered reports whether the server keeps the session independently of its connections, and so may have lost it
	// unnoticed.
	remembered() bool
	// cancel informs the server that a request was abandoned.
	cancel(ctx context.Context, request sentRequest)
	// lastWords returns the server's output about its end, if any.
	lastWords() string
	// answers returns what assigns the server's responses to the requests in progress.
	answers() *answers
	// release waits until the wire has ended completely.
	release()
}

// ending is the end of a wire.
type ending struct {
	once *sync.Once
	done chan struct{}
	err  error // the reason; set before done is closed
}

func newEnding() ending { return ending{once: &sync.Once{}, done: make(chan struct{})} }

func (e *ending) fail(err error) {
	e.once.Do(func() {
		e.err = fmt.Errorf("%w: %w", errEnded, err)
		close(e.done)
	})
}

func (e *ending) ended() <-chan struct{} { return e.done }

func (e *ending) why() error { return e.err }

// The reasons for the failure of a wire.
var (
	errEnded       = errors.New("the session has ended")
	errTooLarge    = errors.New("the server sent a message that is too long")
	errCut         = errors.New("the connection was lost before a response arrived")
	errUnreachable = errors.New("it cannot be reached")
	errFind        = errors.New("find MCP server")
	errStart       = errors.New("start MCP server")
	errSilent      = errors.New("the server does not respond to pings")
	errLate        = errors.New("no response to initialize")
)

// openWire starts a process, or prepares HTTP. stopped aborts requests over HTTP, and onActivity is called whenever the
// server has sent something.
func openWire(t Transport, output *tail, stopped <-chan struct{}, onActivity func(), opts Options, logger *slog.Logger) (wire, error) {
	switch t.Type {
	case "", Stdio:
		proc, err := startProcess(t, output)
		if err != nil {
			return nil, err
		}
		return newConn(proc, opts.MessageLimit, onActivity, logger), nil
	case HTTP, SSE:
		web, err := newWeb(t, output.secrets, stopped, onActivity, opts)
		if err != nil {
			return nil, err // do not return the pointer: an interface that holds nil is not nil
		}
		return web, nil
	}
	return nil, fmt.Errorf("unknown type of transport %q", t.Type)
}

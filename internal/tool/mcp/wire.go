package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wire is how a session reaches its server: a process, or HTTP. The SDK talks
// over it, and it knows what the SDK does not say: whether a request may have
// been seen (its receipt), and why an answer did not come.
type wire interface {
	mcp.Transport
	// fail ends the wire. Only the first reason counts.
	fail(err error)
	// ended is closed when the wire is of no use any more; then why says why.
	ended() <-chan struct{}
	why() error
	// remembered reports whether the server keeps the session apart from its connections, and so may have lost it unnoticed.
	remembered() bool
	// cancel tells the server that a request was given up.
	cancel(ctx context.Context, request sentRequest)
	// lastWords is what the server had to say about its end, if anything.
	lastWords() string
	// results has the results of calls that are under way.
	results() *raws
	// release waits until nothing is left of the wire, after its end.
	release()
}

// ending is the end of a wire.
type ending struct {
	once *sync.Once
	done chan struct{}
	err  error // why; set before done is closed
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

// Why a wire does not do what it should.
var (
	errEnded       = errors.New("the session has ended")
	errTooLarge    = errors.New("the server sent a message that is too long")
	errCut         = errors.New("the connection broke off before the answer")
	errNoJSON      = errors.New("it is no valid JSON")
	errUnreachable = errors.New("it cannot be reached")
	errStart       = errors.New("start MCP server")
	errSilent      = errors.New("the server does not answer pings")
	errLate        = errors.New("no answer to initialize")
	errTooMany     = fmt.Errorf("more than %d tools or %d pages", maxTools, maxPages)
)

// openWire starts a process, or gets ready for HTTP. stopped aborts what is
// under way over HTTP; heard is called whenever the server has sent something.
func openWire(t Transport, secrets secrets, stopped <-chan struct{}, heard func(), opts Options, logger *slog.Logger) (wire, error) {
	switch t.Type {
	case "", Stdio:
		proc, err := startProcess(t, newTail(opts.StderrLimit, secrets, logger))
		if err != nil {
			return nil, err
		}
		return newConn(proc, opts.MessageLimit, heard, logger), nil
	case HTTP, SSE:
		web, err := newWeb(t, secrets, stopped, opts.MessageLimit, heard)
		if err != nil {
			return nil, err // not the pointer: an interface that holds nil is not nil
		}
		return web, nil
	}
	return nil, fmt.Errorf("unknown type of transport %q", t.Type)
}

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// conn is a connection with newline-delimited JSON-RPC to a process. Unlike the SDK's transport, it records whether a
// request was written before the connection broke, limits a write by its ctx, skips output between messages, and ends
// the whole process group.
type conn struct {
	proc       *process
	input      *bufio.Reader
	limit      int    // bytes of one message
	onActivity func() // called when the server has sent a message
	logger     *slog.Logger
	writes     chan write
	responses  answers
	ready      []jsonrpc.Message // read, and not yet returned by Read
	ending
}

func (c *conn) answers() *answers { return &c.responses }

type write struct {
	line  []byte
	begun time.Time  // when the fence of a call that must not be sent twice allowed it; zero for other messages
	err   chan error // buffered: the writer never waits for the caller
}

func newConn(proc *process, limit int, onActivity func(), logger *slog.Logger) *conn {
	c := &conn{
		proc:       proc,
		input:      bufio.NewReaderSize(proc.stdout, 64<<10),
		limit:      limit,
		onActivity: onActivity,
		logger:     logger,
		writes:     make(chan write),
		responses:  answers{shared: true},
		ending:     newEnding(),
	}
	go c.writeAll()
	return c
}

// Connect, SessionID and Close make conn a transport and a connection of the SDK.
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID is empty, because a process has no session id.
func (c *conn) SessionID() string { return "" }

// Close ends the connection; it does not wait for the process.
func (c *conn) Close() error {
	c.fail(errClosed)
	return nil
}

// fail ends the connection and the process. A process that hangs is killed at once, because it could otherwise continue
// and read abandoned calls.
func (c *conn) fail(err error) {
	c.ending.fail(err)
	if errors.Is(err, errSilent) {
		c.proc.signal(syscall.SIGKILL)
	}
	c.proc.stop()
}

// remembered is false: the session ends with the process.
func (c *conn) remembered() bool { return false }

func (c *conn) cancel(ctx context.Context, request sentRequest) {
	_ = c.Write(ctx, cancellation(request.id))
}

func (c *conn) lastWords() string { return c.proc.lastWords() }

// release waits until the process is gone.
func (c *conn) release() { <-c.proc.exited }

// Read returns the next message. The end of the process unblocks it.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for len(c.ready) == 0 {
		line, err := readLine(c.input, c.limit)
		if err != nil {
			c.fail(err)
			c.proc.stdout.Close()
			return nil, c.err
		}
		for _, message := range c.responses.read(line, nil) {
			if msg, err := jsonrpc.DecodeMessage(message); err == nil {
				c.ready = append(c.ready, msg)
			}
		}
		if len(c.ready) > 0 {
			c.onActivity()
		} else if len(bytes.TrimSpace(line)) > 0 {
			c.logger.Debug("MCP server wrote a line that is not a JSON-RPC message, or a response without an id", "bytes", len(line))
		}
	}
	next := c.ready[0]
	c.ready = c.ready[1:]
	return next, nil
}

// readLine reads a line into new memory, because a message refers to it. With an error, it returns the incomplete line.
func readLine(input *bufio.Reader, limit int) ([]byte, error) {
	var parts [][]byte
	size := 0
	for {
		part, err := input.ReadSlice('\n')
		if size += len(part); size > limit {
			return nil, fmt.Errorf("%w: more than %d bytes", errTooLarge, limit)
		}
		parts = append(parts, bytes.Clone(part))
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.Join(parts, nil), err
		}
	}
}

// Write passes a message to the writer and waits until it is written, or ctx ends. A server that does not read delays
// its own calls, but no longer than their ctx.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if ofCancellation(ctx, msg) {
		return nil
	}
	line, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	line = append(line, '\n')
	receipt := receiptOf(ctx, msg)
	var sent sentRequest
	if request, ok := msg.(*jsonrpc.Request); ok {
		if sent.id = request.ID.Raw(); sent.id == nil {
			c.responses.noticed()
		}
	}
	for {
		w := write{line: line, err: make(chan error, 1)}
		if receipt.once {
			w.begun = time.Now()
		}
		if err := receipt.begin(sent); err != nil {
			receipt.giveUp(err) // otherwise the SDK would consider the connection broken
			return err
		}
		if err := c.write(ctx, w, receipt); !errors.Is(err, errStale) {
			return err
		}
	}
}

// errStale means that a message was not written because its fence allowed it so long ago that another worker may have
// taken over.
var errStale = errors.New("the message waited too long to be written")

func (c *conn) write(ctx context.Context, w write, receipt *receipt) error {
	select {
	case c.writes <- w: // from here on the server may see it
	case <-c.done:
		receipt.undo()
		return c.err
	case <-ctx.Done():
		receipt.undo()
		return ctx.Err()
	}
	select {
	case err := <-w.err:
		if unread, ok := errors.AsType[*unreadError](err); ok {
			receipt.undo()
			return unread.error
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unreadError means that a message was not completely written, so the server cannot have acted on it.
type unreadError struct{ error }

func (e *unreadError) Unwrap() error { return e.error }

func (c *conn) writeAll() {
	for {
		select {
		case w := <-c.writes:
			if !w.begun.IsZero() && stale(w.begun) {
				w.err <- &unreadError{errStale}
				continue
			}
			n, err := c.proc.stdin.Write(w.line)
			if err == nil {
				w.err <- nil
				continue
			}
			if n < len(w.line)-1 { // without its last brace a message is incomplete; without the line end it may be complete
				err = &unreadError{err}
			}
			w.err <- err
			c.fail(err)
			return
		case <-c.done:
			return
		}
	}
}

// stale reports whether a time is more than a second ago, by either clock: one of them stops while the machine sleeps.
func stale(t time.Time) bool {
	const fresh = time.Second
	return time.Since(t) >= fresh || time.Now().Round(0).Sub(t.Round(0)).Abs() >= fresh
}

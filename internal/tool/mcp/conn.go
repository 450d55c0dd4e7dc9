package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// conn speaks newline-delimited JSON-RPC with a process. The SDK has a transport
// of its own for this; ours also says whether a request was written before the
// connection broke, bounds a write by its ctx, skips what a server prints
// between messages, and ends the whole process group.
type conn struct {
	proc   *process
	input  *bufio.Reader
	limit  int // bytes of one message
	logger *slog.Logger
	writes chan write
	raws   raws
	ending
}

func (c *conn) results() *raws { return &c.raws }

type write struct {
	line []byte
	err  chan error // buffered: the writer never waits for whoever asked
}

func newConn(proc *process, limit int, logger *slog.Logger) *conn {
	c := &conn{
		proc:   proc,
		input:  bufio.NewReaderSize(proc.stdout, 64<<10),
		limit:  limit,
		logger: logger,
		writes: make(chan write),
		ending: newEnding(),
	}
	go c.writeAll()
	return c
}

// Connect, SessionID and Close make conn a transport and a connection of the SDK.
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID is for transports that have one.
func (c *conn) SessionID() string { return "" }

// Close ends the connection; it does not wait for the process.
func (c *conn) Close() error {
	c.fail(errClosed)
	return nil
}

// fail ends the connection and the process.
func (c *conn) fail(err error) {
	c.ending.fail(err)
	c.proc.stop()
}

func (c *conn) lastWords() string { return c.proc.lastWords() }

// release waits until the process is gone.
func (c *conn) release() { <-c.proc.exited }

// Read returns the next message. The process's end unblocks it.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := readLine(c.input, c.limit)
		if err != nil {
			c.fail(err)
			c.proc.stdout.Close()
			return nil, c.err
		}
		msg, err := jsonrpc.DecodeMessage(c.raws.keep(line))
		if err == nil {
			return msg, nil
		}
		if len(bytes.TrimSpace(line)) > 0 {
			c.logger.Debug("MCP server wrote a line that is no message", "bytes", len(line))
		}
	}
}

// readLine reads a line into memory that is not used again, because a message refers to it. With an error, the line
// is what was read of it.
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

// Write hands a message to the writer and waits until it is written, or ctx
// ends. A server that does not read holds up its own calls, but no longer than
// their ctx.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	w := write{line: append(line, '\n'), err: make(chan error, 1)}
	select {
	case c.writes <- w:
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
	receipt := receiptOf(ctx, msg)
	receipt.setSent(true) // from here on the server may see it
	select {
	case err := <-w.err:
		receipt.setSent(err == nil) // a line that was cut short is no request
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *conn) writeAll() {
	for {
		select {
		case w := <-c.writes:
			_, err := c.proc.stdin.Write(w.line)
			w.err <- err
			if err != nil {
				c.fail(err)
				return
			}
		case <-c.done:
			return
		}
	}
}

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/inquest-dev/inquest/internal/kit/sse"
)

// stream is a body of server-sent events. It limits the size of each event, rewrites their messages, and reports when
// and why the body ends. The SDK understands neither a byte order mark nor lines that end with CR or have no colon, and breaks
// the connection at an event that is no message, so the stream has none of them.
type stream struct {
	streamOptions
	body  io.ReadCloser
	lines *sse.Lines

	ready  []byte // of the next event, not yet handed out
	err    error  // the error at the end of the body
	closed atomic.Bool
}

type streamOptions struct {
	limit int // bytes of one event
	// read returns the messages in place of an event's message.
	read func([]byte) [][]byte
	// bare allows events without data. The SDK reads their ids over streamable HTTP, and mistakes them for messages over SSE.
	bare    bool
	broken  func(error)        // called at the end of the body, even if nobody reads further
	last    func() []byte      // returns a message to add at the end of the body, or nil; a nil function adds none
	release context.CancelFunc // called when the body is closed
}

func newStream(body io.ReadCloser, opts streamOptions) *stream {
	lines := sse.NewLines(bufio.NewReaderSize(body, 64<<10))
	return &stream{streamOptions: opts, body: body, lines: lines}
}

func (s *stream) Read(p []byte) (int, error) {
	for len(s.ready) == 0 && s.err == nil {
		s.ready, s.err = s.next()
		switch {
		case s.err == nil, s.closed.Load():
		case errors.Is(s.err, errTooLarge):
			s.broken(s.err)
		default:
			s.addLast()
			s.broken(fmt.Errorf("%w: %w", errCut, s.err))
		}
	}
	if len(s.ready) == 0 {
		return 0, s.err
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

func (s *stream) addLast() {
	if s.last == nil {
		return
	}
	if message := s.last(); message != nil {
		s.ready = fmt.Appendf(s.ready, "\n\ndata: %s\n\n", message) // the body may end within an event
	}
}

// next reads up to the empty line that ends an event, or to the end of the body.
func (s *stream) next() ([]byte, error) {
	var lines [][]byte
	size := 0
	for {
		line, err := s.lines.Next(s.limit - size)
		if errors.Is(err, sse.ErrTooLong) {
			return nil, fmt.Errorf("%w: more than %d bytes", errTooLarge, s.limit)
		}
		size += len(line) + 1
		if len(line) == 0 || bytes.Contains(line, []byte(":")) {
			lines = append(lines, bytes.Clone(line))
		}
		switch {
		case err != nil:
			return s.event(lines), err
		case len(line) == 0:
			return s.event(append(lines, nil)), nil
		}
	}
}

// event joins the lines of an event, its message rewritten.
func (s *stream) event(lines [][]byte) []byte {
	var data, others [][]byte
	var name string
	for _, line := range lines {
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" ")))
			continue
		}
		if value, ok := bytes.CutPrefix(line, []byte("event:")); ok {
			name = string(bytes.TrimSpace(value))
		}
		others = append(others, line)
	}
	var messages [][]byte
	message := bytes.Join(data, []byte("\n"))
	if data != nil && (name == "" || name == "message") {
		messages = s.read(message)
	}
	switch {
	case name == "endpoint", len(messages) == 1 && bytes.Equal(messages[0], message):
		return bytes.Join(lines, []byte("\n"))
	case len(messages) == 0 && !s.bare:
		return nil
	}
	var event []byte
	for n, message := range messages {
		if n > 0 {
			event = append(event, '\n')
		}
		event = fmt.Appendf(event, "data: %s\n", message)
	}
	return append(event, bytes.Join(others, []byte("\n"))...) // the empty line is the last of them
}

// Close closes the body. The end of a closed body is not reported.
func (s *stream) Close() error {
	s.closed.Store(true)
	s.release()
	return s.body.Close()
}

// activityBody reports when something arrives.
type activityBody struct {
	io.ReadCloser
	onActivity func()
}

func (b activityBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.onActivity()
	}
	return n, err
}

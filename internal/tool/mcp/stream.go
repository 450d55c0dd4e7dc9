package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/inquest-dev/inquest/internal/kit/sse"
)

// stream is a body of server-sent events. It limits the size of each event, rewrites their messages, and reports when
// and why the body ends. The SDK understands neither a byte order mark nor lines that end with CR or have no colon, so
// the stream has none of them.
type stream struct {
	body    io.ReadCloser
	lines   *sse.Lines
	limit   int                 // bytes of one event
	keep    func([]byte) []byte // rewrites a message
	broken  func(error)         // called at the end of the body, even if nobody reads further
	release context.CancelFunc  // called when the body is closed

	ready []byte // of the next event, not yet handed out
	err   error  // the error at the end of the body
}

func newStream(body io.ReadCloser, limit int, keep func([]byte) []byte, broken func(error), release context.CancelFunc) *stream {
	lines := sse.NewLines(bufio.NewReaderSize(body, 64<<10))
	return &stream{body: body, lines: lines, limit: limit, keep: keep, broken: broken, release: release}
}

func (s *stream) Read(p []byte) (int, error) {
	if len(s.ready) == 0 && s.err == nil {
		s.ready, s.err = s.next()
		switch {
		case s.err == nil:
		case errors.Is(s.err, errTooLarge):
			s.broken(s.err)
		default:
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
	for _, line := range lines {
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" ")))
		} else {
			others = append(others, line)
		}
	}
	message := bytes.Join(data, []byte("\n"))
	raw := s.keep(message)
	if bytes.Equal(raw, message) {
		return bytes.Join(lines, []byte("\n"))
	}
	return slices.Concat([]byte("data: "), raw, []byte("\n"), bytes.Join(others, []byte("\n"))) // the empty line is the last of them
}

func (s *stream) Close() error {
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

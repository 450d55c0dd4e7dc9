package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// stream is a body of server-sent events. It limits the size of each event, rewrites their messages, and reports when
// and why the body ends.
type stream struct {
	body    io.ReadCloser
	input   *bufio.Reader
	limit   int                 // bytes of one event
	keep    func([]byte) []byte // rewrites a message
	broken  func(error)         // called at the end of the body, even if nobody reads further
	release context.CancelFunc  // called when the body is closed

	ready []byte // of the next event, not yet handed out
	err   error  // the error at the end of the body
}

func newStream(body io.ReadCloser, limit int, keep func([]byte) []byte, broken func(error), release context.CancelFunc) *stream {
	return &stream{body: body, input: bufio.NewReaderSize(body, 64<<10), limit: limit, keep: keep, broken: broken, release: release}
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
		line, err := readLine(s.input, s.limit-size)
		if errors.Is(err, errTooLarge) {
			return nil, fmt.Errorf("%w: more than %d bytes", errTooLarge, s.limit)
		}
		size += len(line)
		lines = append(lines, line)
		if err != nil || len(bytes.TrimRight(line, "\r\n")) == 0 {
			return s.event(lines), err
		}
	}
}

// event joins the lines of an event, its message rewritten.
func (s *stream) event(lines [][]byte) []byte {
	var data, others [][]byte
	for _, line := range lines {
		text := bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" ")))
		} else {
			others = append(others, line)
		}
	}
	message := bytes.Join(data, []byte("\n"))
	raw := s.keep(message)
	if bytes.Equal(raw, message) {
		return bytes.Join(lines, nil)
	}
	return slices.Concat([]byte("data: "), raw, []byte("\n"), bytes.Join(others, nil)) // the empty line is the last of them
}

func (s *stream) Close() error {
	s.release()
	return s.body.Close()
}

// heardBody reports when something arrives.
type heardBody struct {
	io.ReadCloser
	heard func()
}

func (b heardBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.heard()
	}
	return n, err
}

package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

// stream is a body of server-sent events. It bounds each of them, and says when
// and why it ends.
type stream struct {
	body    io.ReadCloser
	limit   int                // bytes of one event
	broken  func(error)        // told of the end of the body, also if nobody waits for more of it
	release context.CancelFunc // called when the body is closed

	event, line int // bytes of the event and of the line that it is in
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if s.count(p[:n]) {
		err = fmt.Errorf("%w: more than %d bytes", errTooLarge, s.limit)
		s.broken(err)
		return 0, err
	}
	if err != nil {
		s.broken(fmt.Errorf("%w: %w", errCut, err))
	}
	return n, err
}

// count reports whether an event is too long. An empty line ends an event.
func (s *stream) count(p []byte) (over bool) {
	for line := range bytes.Lines(p) {
		s.line += len(line)
		s.event += len(line)
		over = over || s.event > s.limit
		if line[len(line)-1] != '\n' {
			break
		}
		if s.line <= len("\r\n") {
			s.event = 0
		}
		s.line = 0
	}
	return over
}

func (s *stream) Close() error {
	s.release()
	return s.body.Close()
}

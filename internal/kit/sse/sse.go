// Package sse reads the lines of server-sent events as the WHATWG standard defines them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html, 9.2.5). Models and MCP servers send such streams.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// ByteOrderMark is U+FEFF as UTF-8. Servers on Windows write it before a text, and it is not part of the text.
const ByteOrderMark = "\uFEFF"

var mark = []byte(ByteOrderMark)

// Unmarked returns a text without its byte order mark.
func Unmarked(text []byte) []byte { return bytes.TrimPrefix(text, mark) }

// ErrTooLong means that a line is longer than the limit.
var ErrTooLong = errors.New("the line is too long")

// Lines reads the lines of a stream, which end with LF, CR or both. It skips a byte order mark at the start. It is not
// safe for concurrent use.
type Lines struct {
	body   *bufio.Reader
	begun  bool // the byte order mark has been skipped
	skipLF bool // the last line ended with CR: skip a following LF
	line   []byte
	end    error // of the body, which need not repeat it
}

// NewLines returns a reader of the lines of a body. It adds a small buffer if the body is not a bufio.Reader.
func NewLines(body io.Reader) *Lines { return &Lines{body: bufio.NewReader(body)} }

// Next returns the next line without its end. The line is valid until the next call. At the end of the body, Next
// returns the body's error with the text after the last line, which may be empty, and later the error alone. A line of
// more than limit bytes is ErrTooLong. Next never waits for the byte after a CR.
func (l *Lines) Next(limit int) ([]byte, error) {
	l.line = l.line[:0]
	for l.end == nil {
		if _, l.end = l.body.Peek(1); l.end != nil {
			break
		}
		ended := l.take()
		if len(l.line) > limit {
			l.end = ErrTooLong
			return nil, l.end
		}
		if ended {
			break
		}
	}
	if !l.begun && len(l.line) > 0 {
		l.begun = true
		return Unmarked(l.line), l.end
	}
	return l.line, l.end
}

// take adds the buffered part of the line. It reports whether the line is complete.
func (l *Lines) take() (ended bool) {
	chunk, _ := l.body.Peek(l.body.Buffered())
	if l.skipLF && chunk[0] == '\n' {
		_, _ = l.body.Discard(1)
		l.skipLF = false
		return false
	}
	l.skipLF = false
	end := bytes.IndexAny(chunk, "\r\n")
	if ended = end >= 0; ended {
		l.skipLF = chunk[end] == '\r'
		_, _ = l.body.Discard(end + 1)
		chunk = chunk[:end]
	}
	if len(l.line)+len(chunk) > cap(l.line) {
		l.line = slices.Grow(l.line, len(l.line)+len(chunk)) // append would copy a long line more often
	}
	l.line = append(l.line, chunk...)
	if !ended {
		_, _ = l.body.Discard(len(chunk))
	}
	return ended
}

package llm

import (
	"bufio"
	"bytes"
	"io"
)

const (
	maxReply = 64 << 20 // bytes; more than any model writes, less than memory
	maxPlain = 1 << 20  // bytes of a body that is no event stream
)

// Events reads the data of server-sent events, one line each, as every provider
// sends them. Comments and other fields are skipped: a provider that only keeps
// the connection alive sends no chunk.
type Events struct {
	body *bufio.Reader
	// plain is what does not belong to an event stream: an answer in plain JSON.
	plain bytes.Buffer
	// Partial: the last event may lack its end, as nothing followed it.
	Partial bool
}

// NewEvents reads the body of an answer.
func NewEvents(body io.Reader) *Events {
	return &Events{body: bufio.NewReader(io.LimitReader(body, maxReply))}
}

// Next returns the data of the next event; io.EOF after the last.
func (e *Events) Next() ([]byte, error) {
	for {
		line, err := e.body.ReadBytes('\n')
		line = bytes.TrimSpace(line)
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(data) > 0 {
			e.Partial = err != nil
			return bytes.TrimSpace(data), nil
		}
		e.keep(line)
		if err != nil {
			return nil, err
		}
	}
}

// keep remembers lines that are not of an event stream.
func (e *Events) keep(line []byte) {
	if !EventField(line) && e.plain.Len()+len(line) <= maxPlain {
		e.plain.Write(line)
		e.plain.WriteByte('\n')
	}
}

// Rest is the plain body, if the answer was no event stream.
func (e *Events) Rest() []byte { return bytes.TrimSpace(e.plain.Bytes()) }

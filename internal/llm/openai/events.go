package openai

import (
	"bufio"
	"bytes"
	"io"

	"github.com/inquest-dev/inquest/internal/llm"
)

const (
	maxReply = 64 << 20 // bytes; more than any model writes, less than memory
	maxPlain = 1 << 20  // bytes of a body that is no event stream
)

// events reads the data of server-sent events, one line each, as every provider
// sends them. Comments and other fields are skipped: a provider that only keeps
// the connection alive sends no chunk.
type events struct {
	body *bufio.Reader
	// plain is what does not belong to an event stream: an answer in plain JSON.
	plain bytes.Buffer
	// partial: the last event may lack its end, as nothing followed it.
	partial bool
}

func newEvents(body io.Reader) *events {
	return &events{body: bufio.NewReader(io.LimitReader(body, maxReply))}
}

// next returns the data of the next event; io.EOF after the last.
func (e *events) next() ([]byte, error) {
	for {
		line, err := e.body.ReadBytes('\n')
		line = bytes.TrimSpace(line)
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && len(data) > 0 {
			e.partial = err != nil
			return bytes.TrimSpace(data), nil
		}
		e.keep(line)
		if err != nil {
			return nil, err
		}
	}
}

// keep remembers lines that are not of an event stream.
func (e *events) keep(line []byte) {
	if !llm.EventField(line) && e.plain.Len()+len(line) <= maxPlain {
		e.plain.Write(line)
		e.plain.WriteByte('\n')
	}
}

// rest is the plain body, if the answer was no event stream.
func (e *events) rest() []byte { return bytes.TrimSpace(e.plain.Bytes()) }

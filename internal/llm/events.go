package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	maxReply = 64 << 20 // bytes; more than any model writes, less than memory
	maxPlain = 1 << 20  // bytes of a body that is no event stream
)

// EventReply is a reply that a driver puts together from the data of server-sent events. All errors are *Errors.
type EventReply interface {
	// Event takes in the data of one event. done: no further one is needed, and the error is that of the reply.
	Event(data []byte) (done bool, err error)
	// Plain takes in an answer in plain JSON: an error, or the reply of a server that does not stream.
	Plain(body []byte) error
	// Ended judges the end of the stream, for which why is io.EOF unless it was cut; nil = the reply is whole.
	Ended(why error) error
}

// ReadEvents puts a reply together from the body of an answer.
func ReadEvents(body io.Reader, idle *Idle, r EventReply) error {
	all := events{body: bufio.NewReader(io.LimitReader(body, maxReply))}
	for first := true; ; first = false {
		idle.Wait()
		data, err := all.next()
		idle.Arrived()
		switch {
		case errors.Is(err, io.EOF) && first && len(all.rest()) > 0:
			if failed := NotAModel(0, all.rest()); failed != nil {
				return failed
			}
			return r.Plain(all.rest())
		case err != nil:
			return r.Ended(err)
		}
		done, err := r.Event(data)
		switch {
		case all.partial && errors.Is(err, ErrMalformed):
			return r.Ended(io.ErrUnexpectedEOF)
		case done || err != nil:
			return err
		}
	}
}

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
	if !EventField(line) && e.plain.Len()+len(line) <= maxPlain {
		e.plain.Write(line)
		e.plain.WriteByte('\n')
	}
}

// rest is the plain body, if the answer was no event stream.
func (e *events) rest() []byte { return bytes.TrimSpace(e.plain.Bytes()) }

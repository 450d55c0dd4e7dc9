package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"regexp"

	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/sse"
)

const (
	maxReply = 64 << 20 // bytes; more than any model writes, and it fits into memory
	maxPlain = 1 << 20  // bytes of a body that is not an event stream
	maxWords = 4 << 10  // characters of an event that is plain text; Guard cuts it after it has looked for secrets
)

// EventReply is a reply that a driver assembles from server-sent events. All errors are *Errors.
type EventReply interface {
	// Event processes one event. done means that no further event is needed, and err is then the result of the reply.
	Event(e Event) (done bool, err error)
	// Plain processes an answer in plain JSON: an error, or the reply of a server that does not stream.
	Plain(body []byte) error
	// Ended judges the end of the stream. why is io.EOF unless the stream was cut. Nil means that the reply is
	// complete.
	Ended(why error) error
}

// ReadEvents assembles a reply from the body of an answer.
func ReadEvents(body io.Reader, idle *Idle, r EventReply) error {
	all := NewEvents(body)
	return all.Explain(all.readAll(idle, r))
}

// readAll assembles a reply from the events.
func (e *Events) readAll(idle *Idle, r EventReply) error {
	for first := true; ; {
		idle.Wait()
		event, err := e.Next()
		idle.Arrived()
		if err != nil {
			return lastWords(e, err, first, r)
		}
		if event.KeepsAlive() {
			continue
		}
		first = false
		done, err := r.Event(event)
		switch {
		case event.Partial && errors.Is(err, ErrMalformed):
			return r.Ended(io.ErrUnexpectedEOF)
		case done || err != nil:
			return err
		}
	}
}

// lastWords judges a stream at its end by the text outside events: an answer in plain JSON or, after events, the
// unframed error of a proxy.
func lastWords(all *Events, end error, first bool, r EventReply) error {
	rest := all.Rest()
	switch {
	case !errors.Is(end, io.EOF) || len(rest) == 0:
	case first:
		if failed := NotAModel(0, rest); failed != nil {
			return failed
		}
		return r.Plain(rest)
	case r.Ended(end) != nil && json.Valid(rest) && ErrorWords(rest) != "":
		if _, err := r.Event(Event{Name: ErrorEvent, Data: rest}); err != nil {
			return err
		}
	}
	return r.Ended(end)
}

// ErrorEvent is the name of events with an error.
const ErrorEvent = "error"

// Event is a server-sent event. Its data is valid until the next one is read. In JSON, it has null in place of NaN and
// infinite numbers, and the halves of a character are joined (see Halves).
type Event struct {
	Name string // an empty name means "message"
	Data []byte
	// Partial means that the stream ended without the blank line after an event. The standard drops such an event, but
	// many servers omit the last line break, so the reader of the data decides.
	Partial bool
}

// KeepsAlive reports whether an event only keeps the connection open. Gateways send such events as data: an empty line, "ping",
// ": keepalive" (https://github.com/anomalyco/opencode/issues/50871).
func (e Event) KeepsAlive() bool {
	data := bytes.TrimSpace(e.Data)
	return len(data) == 0 || e.Name != ErrorEvent && data[0] != '{' && !DoneMark(data) && !(data[0] == '[' && json.Valid(data))
}

// Events reads server-sent events as defined by the WHATWG standard
// (https://html.spec.whatwg.org/multipage/server-sent-events.html, 9.2.6), with two differences: see Event.Partial and
// startsAnother.
type Events struct {
	lines *sse.Lines
	line  []byte
	end   error // of the body

	name string
	data []byte // each line ends with LF
	some bool   // there is a data field
	// next is a data field that starts another event without a blank line before it.
	next    []byte
	hasNext bool
	joined  bool // data has several lines that only make sense together

	// plain is text outside the event stream, such as an answer in plain JSON.
	plain  bytes.Buffer
	halves Halves
	words  string // the last event that is plain text, without the signs of life
}

// signOfLife matches plain text that servers send only to keep a connection open.
var signOfLife = regexp.MustCompile(`(?is)^\s*(?::.*|\W*(?:ping|keep[-_ ]?alive|heart-?beat)\W*)$`)

// NewEvents returns a reader of the events of a body. It reads at most 64 MiB.
func NewEvents(body io.Reader) *Events {
	return &Events{lines: sse.NewLines(io.LimitReader(body, maxReply))}
}

// Rest returns the lines that are not part of the event stream.
func (e *Events) Rest() []byte { return finiteJSON(bytes.TrimSpace(e.plain.Bytes())) }

// Next returns the next event, and io.EOF after the last.
func (e *Events) Next() (Event, error) {
	e.name, e.data, e.some, e.joined = "", e.data[:0], false, false
	if e.hasNext {
		e.data, e.some, e.hasNext = append(append(e.data, e.next...), '\n'), true, false
	}
	for {
		e.line, e.end = e.lines.Next(maxReply)
		switch {
		case e.end != nil && len(e.line) == 0 && e.some:
			return e.event(true), nil
		case e.end != nil && len(e.line) == 0:
			return Event{}, e.end
		case len(e.line) == 0 && e.some:
			return e.event(false), nil
		case len(e.line) == 0:
			e.name = ""
		case e.field():
			return e.event(false), nil
		}
	}
}

func (e *Events) event(partial bool) Event {
	data := finiteJSON(bytes.TrimSuffix(e.data, []byte("\n")))
	event := Event{Name: e.name, Data: e.halves.Join(data), Partial: partial}
	if event.KeepsAlive() && !signOfLife.Match(event.Data) {
		e.words = cmp.Or(clip.Fit(ErrorWords(event.Data), maxWords), e.words)
	}
	return event
}

// Explain adds the last event that is plain text to the error of a stream that ended without a complete reply. Proxies send the reason
// as such text: "upstream connect error or disconnect/reset before headers". Without events, e is nil.
func (e *Events) Explain(err error) error {
	failed, ok := errors.AsType[*Error](err)
	if ok && e != nil && e.words != "" && (failed.Kind == ErrTruncated || failed.Kind == ErrUnavailable) {
		failed.Message += ": " + e.words
	}
	return err
}

// field processes the field of a line. It reports whether the previous event is complete.
func (e *Events) field() (complete bool) {
	name, value, colon := bytes.Cut(e.line, []byte(":"))
	if bytes.HasPrefix(e.plain.Bytes(), []byte("<")) { // a web page may have such lines
		name = nil
		e.keep()
	}
	if colon {
		value = bytes.TrimPrefix(value, []byte(" "))
	}
	switch string(name) {
	case "data":
		if e.startsAnother(value) {
			e.next, e.hasNext = append(e.next[:0], value...), true
			return true
		}
		e.data, e.some = append(append(e.data, value...), '\n'), true
	case "event":
		e.name = string(value)
	case "", "id", "retry": // ignored; comments only keep the connection alive
	default:
		e.keep()
	}
	return false
}

// startsAnother reports whether a data field cannot continue the previous data. Servers that omit the blank line
// between events send two JSON values in a row, which are never one value.
func (e *Events) startsAnother(value []byte) bool {
	before := bytes.TrimSpace(e.data)
	if len(before) == 0 || e.joined {
		return false
	}
	starts := bytes.HasPrefix(value, []byte("{")) || DoneMark(value)
	ends := before[len(before)-1] == '}'
	if !starts || !ends {
		return false
	}
	e.joined = !json.Valid(finiteJSON(before)) // only once for each event, because it takes time in proportion to the data
	return !e.joined
}

// keep stores a line that is not part of the event stream.
func (e *Events) keep() {
	if e.plain.Len()+len(e.line) <= maxPlain {
		e.plain.Write(e.line)
		e.plain.WriteByte('\n')
	}
}

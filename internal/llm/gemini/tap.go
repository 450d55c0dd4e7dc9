package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/inquest-dev/inquest/internal/llm"
)

// tap is between the SDK and the network for one call. It keeps data that the SDK loses: the headers of a refusal, the
// reason for a broken stream, and Gemini's message about the end of a reply.
type tap struct {
	base *http.Client
	next http.RoundTripper
	// headers are added to the request.
	headers map[string]string
	digits  llm.Digits  // of the request
	token   string      // of Google Cloud, one of the headers; empty if there is none
	events  *llm.Events // of a successful answer; nil before it begins
	lost    error       // the error that broke its body
	failed  *llm.Error  // the error in the answer
	// arguments are the arguments of the calls, in order.
	arguments []string
	ending    string // the finishMessage
}

func newTap(base *http.Client) *tap {
	next := base.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	return &tap{base: base, next: next}
}

// client returns the base client with the tap as its transport.
func (t *tap) client() *http.Client {
	client := *t.base
	client.Transport = t
	return &client
}

// RoundTrip sends a request.
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if err := t.digits.Restore(req); err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	resp, err := llm.GoogleAnswer(t.next.RoundTrip(req))
	if err != nil {
		return nil, err
	}
	t.events = llm.NewEvents(resp.Body)
	resp.Body = &body{events: t.events, closer: resp.Body, tap: t}
	return resp, nil
}

// body converts the answer for the SDK, event by event. The SDK reads lines instead of events, takes comments for a
// broken stream, and loses a reply because of one field of another type. The body ends quietly when the stream breaks,
// because the SDK would write that to the process's log. The tap keeps the error.
type body struct {
	events *llm.Events
	line   []byte // unread rest of the line
	some   bool   // an event has arrived
	ended  bool
	closer io.Closer
	tap    *tap
}

// Read returns io.EOF for every error.
func (b *body) Read(p []byte) (int, error) {
	for len(b.line) == 0 {
		if b.ended {
			return 0, io.EOF
		}
		event, err := b.events.Next()
		data := bytes.TrimSpace(event.Data)
		switch {
		case err != nil:
			b.end(err)
		case event.KeepsAlive(), llm.DoneMark(data): // from gateways
		case event.Partial && !json.Valid(data):
			b.ended = true // the event is incomplete; the SDK would ignore it
		case event.Name == llm.ErrorEvent:
			failure, _ := llm.ParseGoogleFailure(data)
			failure.Message = cmp.Or(failure.Message, llm.Word(llm.ErrorWords(data)))
			b.fail(failure.Error(0))
		default:
			b.some = true
			b.take(data)
		}
	}
	n := copy(p, b.line)
	b.line = b.line[n:]
	return n, nil
}

// end processes the end of the answer, which may be an answer in plain JSON.
func (b *body) end(err error) {
	b.ended = true
	if !errors.Is(err, io.EOF) {
		b.tap.lost = err
		return
	}
	rest := b.events.Rest()
	if len(rest) == 0 {
		return
	}
	if failed := llm.NotAModel(0, rest); failed != nil && !b.some {
		b.fail(failed)
		return
	}
	var chunks []json.RawMessage
	if json.Unmarshal(rest, &chunks) != nil { // a unary answer is one chunk
		chunks = []json.RawMessage{rest}
	}
	for _, chunk := range chunks {
		b.take(chunk)
	}
}

// take adds an event's data to the SDK's input.
func (b *body) take(data []byte) {
	if failure, ok := llm.ParseGoogleFailure(data); ok {
		b.fail(failure.Error(0))
		return
	}
	chunk := llm.ReadGoogleChunk(data)
	b.tap.arguments = append(b.tap.arguments, chunk.Arguments...)
	b.tap.ending = cmp.Or(chunk.Ending, b.tap.ending)
	b.line = fmt.Appendf(b.line, "data: %s\n\n", bytes.TrimSpace(chunk.JSON))
}

// fail ends the answer with an error that the SDK does not have to understand.
func (b *body) fail(failed *llm.Error) { b.tap.failed, b.ended = failed, true }

// Close never fails, because the rest of the body no longer matters.
func (b *body) Close() error {
	_ = b.closer.Close()
	return nil
}

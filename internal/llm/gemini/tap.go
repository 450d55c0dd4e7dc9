package gemini

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/inquest-dev/inquest/internal/llm"
)

// maxReply bounds a whole reply, in bytes: more than any model writes, less than
// memory.
const maxReply = 64 << 20

// maxPage bounds what is read of an answer that is not a stream of events, in bytes.
const maxPage = 64 << 10

// tap sits between the SDK and the network for one call. It keeps what the SDK
// loses: the headers of a refusal, why a stream broke, and Gemini's words about
// the end of a reply.
type tap struct {
	base *http.Client
	next http.RoundTripper
	// headers are added to the request.
	headers map[string]string
	token   string // of Google's cloud, among the headers; "" = none
	opened  bool   // a successful answer has begun
	lost    error  // what broke its body
	ending  string // the finishMessage
}

func newTap(base *http.Client) *tap {
	next := base.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	return &tap{base: base, next: next}
}

// client is the base client, through the tap.
func (t *tap) client() *http.Client {
	client := *t.base
	client.Transport = t
	return &client
}

// RoundTrip sends a request.
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(t.headers) > 0 {
		req = req.Clone(req.Context())
	}
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	resp, err := llm.GoogleAnswer(t.next.RoundTrip(req))
	if err != nil {
		return nil, err
	}
	t.opened = true
	resp.Body = &body{lines: bufio.NewReader(io.LimitReader(resp.Body, maxReply)), closer: resp.Body, tap: t}
	return resp, nil
}

// body is the answer, line by line, made fit for the SDK: with the names of enums,
// and without comments, which it takes for a broken stream. It ends quietly when
// the stream breaks, because the SDK would log that to the process's log: the tap
// remembers it.
type body struct {
	lines  *bufio.Reader
	line   []byte // what is left of it
	begun  bool   // a line that is not blank has come
	closer io.Closer
	tap    *tap
	err    error // what follows the line
}

// Read returns io.EOF for every error.
func (b *body) Read(p []byte) (int, error) {
	for len(b.line) == 0 {
		if b.err != nil {
			return 0, io.EOF
		}
		b.line, b.err = b.lines.ReadBytes('\n')
		if b.err != nil && !errors.Is(b.err, io.EOF) {
			b.tap.lost = b.err
		}
		if data, ok := bytes.CutPrefix(b.line, []byte("data:")); ok && b.err != nil && !json.Valid(data) {
			return 0, io.EOF // the end of this event is missing: to the SDK it would be no event at all
		}
		if len(bytes.TrimSpace(b.line)) > 0 && !b.begun {
			b.begun = true
			if !llm.EventField(b.line) {
				b.plain()
			}
		}
		b.line = b.tap.fit(b.line)
	}
	n := copy(p, b.line)
	b.line = b.line[n:]
	return n, nil
}

// plain looks at an answer that is not a stream of events.
func (b *body) plain() {
	rest, _ := io.ReadAll(io.LimitReader(b.lines, maxPage))
	whole := append(b.line, rest...)
	if failed := llm.NotAModel(0, whole); failed != nil {
		b.tap.lost, b.line, b.err = failed, nil, io.EOF
		return
	}
	b.line, b.err = whole, io.EOF
}

// fit is a line as the SDK may see it.
func (t *tap) fit(line []byte) []byte {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	switch {
	case !ok && llm.EventField(line):
		return nil
	case !ok:
		return bytes.TrimSpace(line)
	}
	var chunk struct {
		Candidates []struct {
			Message string `json:"finishMessage"`
		} `json:"candidates"`
	}
	if json.Unmarshal(data, &chunk) == nil && len(chunk.Candidates) > 0 && chunk.Candidates[0].Message != "" {
		t.ending = chunk.Candidates[0].Message
	}
	return fmt.Appendf(nil, "data: %s\n\n", bytes.TrimSpace(llm.GoogleNames(data)))
}

// Close never fails: what the body could say no longer matters.
func (b *body) Close() error {
	_ = b.closer.Close()
	return nil
}

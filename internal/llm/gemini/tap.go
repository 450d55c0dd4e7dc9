package gemini

import (
	"errors"
	"io"
	"net/http"

	"github.com/inquest-dev/inquest/internal/llm"
)

// maxReply bounds a whole reply, in bytes: more than any model writes, less than
// memory.
const maxReply = 64 << 20

// tap sits between the SDK and the network for one call. It keeps what the SDK
// loses: the headers of a refusal, and why a stream broke.
type tap struct {
	base   *http.Client
	next   http.RoundTripper
	opened bool  // a successful answer has begun
	lost   error // what broke its body
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

// RoundTrip sends a request. Whatever is not a success is an *llm.Error, redirects
// too: net/http would take the key's header along to any host.
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrUnavailable, Message: err.Error()}
	}
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices {
		return nil, llm.GoogleRefusal(resp)
	}
	t.opened = true
	resp.Body = &body{Reader: io.LimitReader(resp.Body, maxReply), closer: resp.Body, tap: t}
	return resp, nil
}

// body ends quietly when the stream breaks: the SDK would log it to the process's
// log. The tap remembers it.
type body struct {
	io.Reader
	closer io.Closer
	tap    *tap
}

// Read returns io.EOF for every error.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.tap.lost = err
		err = io.EOF
	}
	return n, err
}

// Close never fails: what the body could say no longer matters.
func (b *body) Close() error {
	_ = b.closer.Close()
	return nil
}

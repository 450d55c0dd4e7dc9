package geminilegacy

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// call holds what the transport sees of one call and the SDK does not pass on.
type call struct {
	key     string
	digits  llm.Digits // of the request
	model   string     // the model that answered
	finish  string     // in Gemini's words; the SDK knows only some
	message string     // Gemini's message about the finish
	last    int        // the number of the chunk with the finish, from 1
	usage   agent.Usage
	// arguments are the arguments of the calls, in order, because the SDK rounds large numbers.
	arguments []string
	opened    bool // a successful answer has begun
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// callOf returns the call of a context. The SDK's own requests have none.
func callOf(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{}
}

// transport is between the SDK and the network. It sets the key, which the SDK would put into the URL and so into
// errors. It turns every refusal into an *llm.Error, which the SDK does not know and so does not retry.
type transport struct {
	base *url.URL
	next http.RoundTripper
}

func newTransport(base string, next http.RoundTripper) (*transport, error) {
	if next == nil {
		next = http.DefaultTransport
	}
	u, err := url.Parse(base)
	return &transport{base: u, next: next}, err
}

// RoundTrip sends a request.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	call := callOf(req.Context())
	direct := t.direct(req, call.key)
	if err := call.digits.Restore(direct); err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	resp, err := llm.GoogleAnswer(t.next.RoundTrip(direct))
	if err != nil {
		return nil, err
	}
	call.opened = true
	resp.Body = newElements(resp.Body, call)
	return resp, nil
}

// direct returns the request for our base URL.
func (t *transport) direct(req *http.Request, key string) *http.Request {
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.URL.User, out.Host = t.base.Scheme, t.base.Host, t.base.User, ""
	out.URL.Path = strings.TrimSuffix(t.base.Path, "/") + req.URL.Path
	out.URL.RawPath = ""
	out.Header.Set("X-Goog-Api-Key", key)
	return out
}

// Package anthropic is the client for Claude with Anthropic's Messages API. The SDK encodes the request. The package
// reads the reply event by event itself: see ADR 7.
package anthropic

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/googlecloud"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

const defaultBaseURL = "https://api.anthropic.com"

// Client is an llm.Client. It is safe for concurrent use.
type Client struct {
	guard   llm.Guard
	learner outgoing.Learner
	vertex  *googlecloud.Place // nil for Anthropic's own service, or a compatible one
}

var _ llm.Client = (*Client)(nil)

// New checks the options and returns a client, without connecting yet. The base URL may end in /v1. The client does not
// follow redirects, because net/http would send the key's header along.
func New(opts llm.Options) (*Client, error) {
	opts.BaseURL = strings.TrimSuffix(strings.TrimSuffix(opts.BaseURL, "/"), "/v1")
	return open(llm.Driver{Name: "anthropic", BaseURL: defaultBaseURL}, opts)
}

func open(driver llm.Driver, opts llm.Options) (*Client, error) {
	guard, err := llm.NewGuard(driver, opts)
	if err != nil {
		return nil, err
	}
	client := *guard.HTTPClient
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	guard.HTTPClient = &client
	return &Client{guard: guard}, nil
}

// Generate makes one call and streams the reply. It retries only requests that the server refuses: see
// outgoing.Learner.
//
// If the reply has provider state, return it with the message that the reply becomes: it holds the model's thinking
// with its signatures. Usage counts cached input as input; the caller sets its ModelCalls. A reply that was cut because
// it repeated itself (llm.FinishRepeating) has no tool calls.
func (c *Client) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	if req.MaxTokens <= 0 {
		req.MaxTokens = llm.ParseClaude(req.Model).MaxTokens()
	}
	return c.guard.Call(ctx, req, onDelta, func(ctx context.Context, key string, idle *llm.Idle, onDelta llm.OnDelta) (llm.Response, error) {
		return c.learner.Send(c.guard.Dialect, &req, func(sent *llm.Request, _ agent.Dialect) (llm.Response, error) {
			idle.Wait()
			return c.ask(ctx, key, idle, *sent, onDelta)
		})
	})
}

// ask sends a request and reads the reply.
func (c *Client) ask(ctx context.Context, key string, idle *llm.Idle, req llm.Request, onDelta llm.OnDelta) (llm.Response, error) {
	tap, err := c.send(ctx, key, req)
	if err != nil {
		return llm.Response{}, tap.hide(err)
	}
	defer llm.CloseRead(tap.answer)

	got := reply{asked: req.Model, fills: fills(req, c.vertex == nil), onDelta: onDelta}
	if err := llm.ReadEvents(tap.answer, idle, &got); err != nil {
		return llm.Response{Usage: got.usage.usage()}, tap.hide(err)
	}
	answer, err := got.response()
	return answer, tap.hide(err)
}

// send sends the request and returns the tap with the body of a successful answer. Only this body of the SDK's stream
// is used.
func (c *Client) send(ctx context.Context, key string, req llm.Request) (*tap, error) {
	params, settings := newRequest(req, c.vertex == nil)
	tap := &tap{client: c.guard.HTTPClient}
	settings = append(settings,
		option.WithoutEnvironmentDefaults(), // it would look for keys and another address
		option.WithBaseURL(c.guard.BaseURL),
		option.WithHTTPClient(tap),
		option.WithMaxRetries(0),
		option.WithOpenTelemetryTraces(false),
	)
	if key != "" {
		settings = append(settings, option.WithAPIKey(key))
	}
	if c.vertex != nil {
		more, err := c.toVertex(ctx, req.Model, tap)
		if err != nil {
			return tap, err
		}
		settings = append(settings, more...)
	}
	client := sdk.NewClient(settings...)
	return tap, client.Messages.NewStreaming(ctx, params).Err()
}

// tap is between the SDK and the network for one call.
type tap struct {
	client  *http.Client
	path    string            // replaces the SDK's path; empty keeps it
	headers map[string]string // added to the request
	token   string            // of Google Cloud, one of the headers
	answer  io.ReadCloser     // the body of a successful answer
}

// Do sends a request. It returns every unsuccessful answer as an *llm.Error.
func (t *tap) Do(req *http.Request) (*http.Response, error) {
	if t.path != "" {
		req.URL.Path, req.URL.RawPath = strings.TrimSuffix(req.URL.Path, "/v1/messages")+t.path, ""
	}
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrUnavailable, Message: llm.TransportText(err)}
	}
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		t.answer = resp.Body
		return resp, nil
	}
	body := llm.ReadRefusal(resp)
	if failed := llm.NotAModel(resp.StatusCode, body); failed != nil {
		return nil, failed
	}
	wait := llm.RetryAfter(resp.Header, time.Now())
	if google, ok := llm.ParseGoogleFailure(body); ok && google.Code != 0 { // from the gateway of Google Cloud
		failed := google.Error(resp.StatusCode)
		failed.RetryAfter = cmp.Or(wait, failed.RetryAfter)
		return nil, failed
	}
	refused := parseFailure(body)
	refused.RequestID = cmp.Or(refused.RequestID, llm.Word(resp.Header.Get("Request-Id")))
	failed := refused.error(resp.StatusCode)
	if failed.RetryAfter = wait; wait == 0 && failed.Kind == llm.ErrRateLimited {
		failed.RetryAfter = untilReset(resp.Header, time.Now())
	}
	return nil, failed
}

// hide removes the token from an error, because the guard does not know it.
func (t *tap) hide(err error) error {
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		failed.Message = llm.Clean(failed.Message, t.token)
	}
	return err
}

// untilReset returns how long until the exhausted limits in the headers reset.
// https://platform.claude.com/docs/en/api/rate-limits#response-headers
func untilReset(header http.Header, now time.Time) (wait time.Duration) {
	for _, limit := range []string{"Requests", "Tokens", "Input-Tokens", "Output-Tokens"} {
		at, err := time.Parse(time.RFC3339, header.Get("Anthropic-Ratelimit-"+limit+"-Reset"))
		if err == nil && header.Get("Anthropic-Ratelimit-"+limit+"-Remaining") == "0" {
			wait = min(max(wait, at.Sub(now)), time.Hour)
		}
	}
	return wait
}

// Package geminilegacy is the client for Google's Gemini with its former SDK, generative-ai-go, which is past its end
// of life. It is for users who depend on that SDK; package gemini is the better driver. The SDK does not support
// thinking, signatures, call ids, or native tools, so requests that need them are refused. Its other faults are handled
// between it and the network: see transport and elements.
package geminilegacy

import (
	"context"
	"errors"
	"sync"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/option"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

const (
	defaultBaseURL = "https://generativelanguage.googleapis.com"
	// noKey is a placeholder, because the SDK requires a key. The transport sets the real one for each call.
	noKey = "set-by-the-transport"
)

// Client is an llm.Client. It is safe for concurrent use.
type Client struct {
	guard     llm.Guard
	learner   outgoing.Learner
	transport *transport

	mu  sync.Mutex
	sdk *genai.Client // created once, because each leaves a connection that is never closed
}

var _ llm.Client = (*Client)(nil)

// New checks the options and returns a client, without connecting yet. The base URL has no version, and the HTTP client
// follows no redirects.
func New(opts llm.Options) (*Client, error) {
	dialect := agent.Dialect{Schemas: agent.SchemaOpenAPI}
	guard, err := llm.NewGuard(llm.Driver{Name: "geminilegacy", BaseURL: defaultBaseURL, Keyed: true, Dialect: dialect}, opts)
	if err != nil {
		return nil, err
	}
	transport, err := newTransport(guard.BaseURL, guard.HTTPClient.Transport)
	return &Client{guard: guard, transport: transport}, err
}

// Generate makes one call and streams the reply. It retries only requests that the server refuses: see
// outgoing.Learner.
//
// It refuses requests for thinking and native tools, and tools for models that require signatures. Usage counts
// thinking as output; the caller sets its ModelCalls. A reply that was cut because it repeated itself
// (llm.FinishRepeating) has no tool calls.
func (c *Client) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	return c.guard.Call(ctx, req, onDelta, func(ctx context.Context, key string, idle *llm.Idle, onDelta llm.OnDelta) (llm.Response, error) {
		return c.learner.Send(c.guard.Dialect, &req, func(sent *llm.Request, _ agent.Dialect) (llm.Response, error) {
			call := &call{key: key, digits: llm.NewDigits()}
			got := reply{call: call, idle: idle, onDelta: onDelta}
			if err := c.stream(withCall(ctx, call), *sent, &got); err != nil {
				return llm.Response{Usage: call.usage}, err
			}
			return got.response()
		})
	})
}

// stream sends the request and reads the reply.
func (c *Client) stream(ctx context.Context, req llm.Request, got *reply) error {
	if err := refuse(req); err != nil {
		return err
	}
	turns := contents(req.Messages, got.call.digits)
	if len(turns) == 0 {
		return errors.New("the conversation has no message to answer")
	}
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	model := client.GenerativeModel(req.Model)
	configure(model, req)
	last := len(turns) - 1
	chat := model.StartChat()
	chat.History = turns[:last]
	return got.read(func() *genai.GenerateContentResponseIterator {
		return chat.SendMessageStream(ctx, turns[last].Parts...)
	})
}

// client returns the SDK's client, which lives as long as this one.
func (c *Client) client(ctx context.Context) (*genai.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sdk != nil {
		return c.sdk, nil
	}
	client := *c.guard.HTTPClient
	client.Transport = c.transport
	sdk, err := genai.NewClient(context.WithoutCancel(ctx), option.WithAPIKey(noKey), option.WithHTTPClient(&client))
	if err != nil {
		return nil, err
	}
	c.sdk = sdk
	return sdk, nil
}

// Package gemini is the client for Google's Gemini with the current SDK, genai. Unwanted behaviour of the SDK is turned
// off or intercepted: it resumes streams, logs to the process's log, reads keys from the environment, and panics on
// chunks with an unexpected structure.
package gemini

import (
	"context"
	"errors"

	"google.golang.org/genai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/googlecloud"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

const (
	defaultBaseURL = "https://generativelanguage.googleapis.com"
	apiVersion     = "v1beta" // the version with native tools and JSON schemas
)

// Client is an llm.Client. It is safe for concurrent use.
type Client struct {
	guard   llm.Guard
	learner outgoing.Learner
	vertex  *googlecloud.Place // nil for the Gemini API
}

var _ llm.Client = (*Client)(nil)

// New checks the options and returns a client, without connecting yet. The base URL has no version, and the HTTP client
// follows no redirects. A key is required, because the SDK would otherwise look for one in the environment.
func New(opts llm.Options) (*Client, error) {
	dialect := agent.Dialect{Schemas: agent.SchemaGemini}
	guard, err := llm.NewGuard(llm.Driver{Name: "gemini", BaseURL: defaultBaseURL, Keyed: true, Dialect: dialect}, opts)
	return &Client{guard: guard}, err
}

// Generate makes one call and streams the reply. It retries only requests that the server refuses: see
// outgoing.Learner.
//
// If the reply has provider state, return it with the message that the reply becomes: it holds the signatures of the
// model's thinking. Usage counts thinking as output; the caller sets its ModelCalls. A reply that was cut because it
// repeated itself (llm.FinishRepeating) has no tool calls.
func (c *Client) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	return c.guard.Call(ctx, req, onDelta, func(ctx context.Context, key string, idle *llm.Idle, onDelta llm.OnDelta) (llm.Response, error) {
		return c.learner.Send(c.guard.Dialect, &req, func(sent *llm.Request, _ agent.Dialect) (llm.Response, error) {
			got := reply{asked: req.Model, tap: newTap(c.guard.HTTPClient), idle: idle, onDelta: onDelta}
			if err := c.stream(ctx, key, *sent, &got); err != nil {
				if failed, ok := errors.AsType[*llm.Error](err); ok { // the guard does not know the token
					failed.Message = llm.Clean(failed.Message, got.tap.token)
				}
				return llm.Response{Usage: got.usage}, err
			}
			return got.response()
		})
	})
}

// stream sends the request and reads the reply.
func (c *Client) stream(ctx context.Context, key string, req llm.Request, got *reply) error {
	got.tap.digits = llm.NewDigits()
	config, err := generateConfig(req, got.tap.digits)
	if err != nil {
		return err
	}
	where := &genai.ClientConfig{
		APIKey:      key,
		Backend:     genai.BackendGeminiAPI, // otherwise the environment would choose
		HTTPClient:  got.tap.client(),
		HTTPOptions: genai.HTTPOptions{BaseURL: c.guard.BaseURL, APIVersion: apiVersion},
	}
	if c.vertex != nil {
		if err := c.toVertex(ctx, where, got.tap); err != nil {
			return err
		}
		if config.ToolConfig != nil {
			config.ToolConfig.IncludeServerSideToolInvocations = nil // not supported there
		}
	}
	client, err := genai.NewClient(ctx, where)
	if err != nil {
		return err
	}
	return got.read(client.Models.GenerateContentStream(ctx, req.Model, contents(req, got.tap.digits), config))
}

// Package openai is the client for OpenAI and for every provider with the same wire format. It uses go-openai for the
// request and reads the reply itself, chunk by chunk: the library's reader loses errors with HTTP 200, thinking, and a
// last line without a line break.
package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

const defaultBaseURL = "https://api.openai.com/v1"

// Client is an llm.Client. It is safe for concurrent use.
type Client struct {
	guard llm.Guard
	// responses selects the Responses API.
	responses bool
	// unverified means that OpenAI has refused to summarise thinking.
	unverified atomic.Bool
	azure      string // version of Azure's API; empty means OpenAI's form
	learner    outgoing.Learner
}

var _ llm.Client = (*Client)(nil)

// New checks the options and returns a client, without connecting yet. The base URL usually ends in /v1.
func New(opts llm.Options) (*Client, error) {
	guard, err := llm.NewGuard(llm.Driver{Name: "openai", BaseURL: defaultBaseURL}, opts)
	return &Client{guard: guard}, err
}

// NewAzure is New for Azure's own form of the API, in a version ("2024-10-21"). The model is the name of a deployment,
// the base URL is the resource's address (https://name.openai.azure.com), and the key is sent in Azure's header.
// Azure's newer /openai/v1 has OpenAI's form; use New for it.
func NewAzure(opts llm.Options, version string) (*Client, error) {
	guard, err := llm.NewGuard(llm.Driver{Name: "openai"}, opts)
	if err != nil {
		return nil, err
	}
	guard.HTTPClient = withoutRedirects(guard.HTTPClient)
	return &Client{guard: guard, azure: version}, nil
}

// Generate makes one call and streams the reply. It retries only requests that the server refuses: see outgoing.Learner
// and respond.
//
// The reply's usage is zero if the provider reports none, and the caller sets its ModelCalls. A reply that was cut
// because it repeated itself (llm.FinishRepeating) has no tool calls. If the reply has provider state, return it with
// the message that the reply becomes: models expect their thinking back with their calls.
func (c *Client) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	req.Messages = c.ours(req.Messages)
	out, err := c.guard.Call(ctx, req, onDelta, func(ctx context.Context, key string, idle *llm.Idle,
		onDelta llm.OnDelta) (llm.Response, error) {
		return c.learner.Send(c.guard.Dialect, &req, func(sent *llm.Request, dialect agent.Dialect) (llm.Response, error) {
			idle.Wait()
			if c.responses {
				return c.respond(ctx, key, idle, *sent, onDelta)
			}
			body, err := c.chatBody(*sent, dialect)
			if err != nil {
				return llm.Response{}, err
			}
			return c.complete(ctx, key, idle, sent.Model, body, newReply(req, onDelta))
		})
	})
	out.ProviderState = c.stamped(out.ProviderState)
	return out, c.hinted(err)
}

// hintRoom leaves space for the hint in an error's text.
const hintRoom = 460 // characters

// hinted adds a hint about the most common mistake to an error about the address: a base_url without /v1.
func (c *Client) hinted(err error) error {
	failed, ok := errors.AsType[*llm.Error](err)
	u, parseErr := url.Parse(c.guard.BaseURL)
	if ok && parseErr == nil && errors.Is(failed, llm.ErrNotAModel) && c.azure == "" && strings.Trim(u.Path, "/") == "" {
		failed.Message = strings.TrimPrefix(clip.Fit(failed.Message, hintRoom)+"; is /v1 missing from base_url?", "; ")
	}
	return err
}

// chatBody returns the body of a request, unless the library knows that the model would refuse it.
func (c *Client) chatBody(req llm.Request, dialect agent.Dialect) ([]byte, error) {
	body := newChatBody(req, dialect)
	body.caching = c.caching(req)
	if err := sdk.NewReasoningValidator().Validate(body.ChatCompletionRequest); err != nil {
		return nil, err
	}
	return encoded(body, body.omit)
}

// complete sends a request to a model and reads the reply.
func (c *Client) complete(ctx context.Context, key string, idle *llm.Idle, model string, request []byte, got *reply) (llm.Response, error) {
	body, err := c.open(ctx, key, model, request)
	if err != nil {
		return llm.Response{}, err
	}
	defer llm.CloseRead(body)
	if err := llm.ReadEvents(body, idle, got); err != nil {
		return llm.Response{Usage: got.usage.usage()}, err
	}
	return got.response()
}

// open sends the request and returns the body of a successful answer. Only this body of the library's stream is used, and the library
// needs only the model.
func (c *Client) open(ctx context.Context, key, model string, request []byte) (io.ReadCloser, error) {
	tap := &tap{client: c.guard.HTTPClient, request: request}
	config := sdk.DefaultConfig(key)
	if c.azure != "" {
		config = azureConfig(key, c.azure)
	}
	config.BaseURL = c.guard.BaseURL
	config.HTTPClient = tap
	if _, err := sdk.NewClientWithConfig(config).CreateChatCompletionStream(ctx, sdk.ChatCompletionRequest{Model: model}); err != nil {
		return nil, err
	}
	return tap.answer, nil
}

// azureConfig returns the configuration for Azure's form: the deployment in the path, the version in the query, the key
// in the header api-key.
func azureConfig(key, version string) sdk.ClientConfig {
	config := sdk.DefaultAzureConfig(key, "")
	config.APIVersion = version
	// The library would remove the dots from some deployments' names.
	config.AzureModelMapperFunc = url.PathEscape
	return config
}

// withoutRedirects returns a client that follows no redirects: net/http does not send the header Authorization to other
// hosts, but it does send api-key.
func withoutRedirects(base *http.Client) *http.Client {
	client := *base
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

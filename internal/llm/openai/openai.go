// Package openai speaks to OpenAI and to every provider that offers the same
// wire format. It uses go-openai for the request and reads the reply itself,
// chunk by chunk: the library's reader loses errors that come with HTTP 200,
// thinking, and a last line without a line break.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/inquest-dev/inquest/internal/llm"
)

const (
	defaultBaseURL = "https://api.openai.com/v1"
	// defaultIdle leaves models the time to think in silence: OpenAI sends
	// nothing before the first visible token.
	defaultIdle = 5 * time.Minute
)

// Options configure a Client.
type Options struct {
	// Name is the provider's name in errors and logs.
	Name string
	// BaseURL is the API's root, usually ending in /v1; "" = OpenAI's.
	BaseURL string
	// AzureAPIVersion is for Azure's own spelling of the API ("2024-10-21"): the
	// model is the name of a deployment, BaseURL the resource's address
	// (https://name.openai.azure.com), and the key goes into Azure's header. Azure's
	// newer /openai/v1 is spelled like OpenAI's, without it.
	AzureAPIVersion string
	// APIKey is asked for the key at each call; nil or an empty key for servers
	// that want none.
	APIKey func() (string, error)
	// IdleTimeout is how long the provider may be silent, also before the first
	// byte; 0 = 5 minutes.
	IdleTimeout time.Duration
	HTTPClient  *http.Client // nil = one without a timeout
	Logger      *slog.Logger // nil = none
}

// Client is an llm.Client. It is safe for concurrent use.
type Client struct {
	opts Options
}

var _ llm.Client = (*Client)(nil)

// New checks the options and returns a client; it connects to nothing yet.
func New(opts Options) (*Client, error) {
	if opts.Name == "" {
		return nil, errors.New("openai client: no name")
	}
	if opts.BaseURL == "" && opts.AzureAPIVersion == "" {
		opts.BaseURL = defaultBaseURL
	}
	// The URL stays out of the error: it may hold a credential.
	if u, err := url.Parse(opts.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("openai client %s: base_url is not an http or https URL", opts.Name)
	}
	if opts.IdleTimeout <= 0 {
		opts.IdleTimeout = defaultIdle
	}
	if opts.HTTPClient == nil {
		opts.HTTPClient = &http.Client{}
	}
	if opts.AzureAPIVersion != "" {
		opts.HTTPClient = withoutRedirects(opts.HTTPClient)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Client{opts: opts}, nil
}

// Generate makes one call and streams the reply. It never tries again.
//
// The reply's usage is zero when the provider reports none, and its ModelCalls
// is always left to the caller. A reply that was cut because it repeated itself
// (llm.FinishRepeating) has no tool calls.
func (c *Client) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	key, err := c.apiKey()
	if err != nil {
		return llm.Response{}, c.failure(ctx, ctx, err, key)
	}
	watched, idle := llm.WatchIdle(ctx, c.opts.IdleTimeout)
	defer idle.Stop()

	body, err := c.open(watched, key, req)
	if err != nil {
		return llm.Response{}, c.failure(ctx, watched, err, key)
	}
	defer body.Close() // what it could say no longer matters

	got := reply{idle: idle, onDelta: onDelta}
	if err := got.read(body); err != nil {
		return llm.Response{}, c.failure(ctx, watched, err, key)
	}
	resp, err := got.response()
	if err != nil {
		return llm.Response{}, c.failure(ctx, watched, err, key)
	}
	if resp.Finish == llm.FinishRepeating {
		c.opts.Logger.WarnContext(ctx, "cut a reply that repeated itself", "provider", c.opts.Name, "model", resp.Model)
	}
	return resp, nil
}

// apiKey reads the key. It refuses one that no header can hold, because net/http
// would report that like a lost connection.
func (c *Client) apiKey() (string, error) {
	if c.opts.APIKey == nil {
		return "", nil
	}
	key, err := c.opts.APIKey()
	if err != nil {
		return "", &llm.Error{Kind: llm.ErrNoKey, Message: err.Error()}
	}
	key = strings.TrimSpace(key)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return key, &llm.Error{Kind: llm.ErrAuth, Message: "the API key has characters that keys do not have"}
	}
	return key, nil
}

// open sends the request and returns the body of a successful answer. Of the
// library's stream nothing is used but this body.
func (c *Client) open(ctx context.Context, key string, req llm.Request) (io.ReadCloser, error) {
	request := newChatBody(req)
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	tap := &tap{client: c.opts.HTTPClient, request: body}
	config := sdk.DefaultConfig(key)
	if c.opts.AzureAPIVersion != "" {
		config = azureConfig(key, c.opts.AzureAPIVersion)
	}
	config.BaseURL = c.opts.BaseURL
	config.HTTPClient = tap
	if _, err := sdk.NewClientWithConfig(config).CreateChatCompletionStream(ctx, request.ChatCompletionRequest); err != nil {
		return nil, err
	}
	return tap.answer, nil
}

// failure turns what went wrong into what Generate returns: the caller's own
// ctx.Err(), or an *llm.Error that is safe to show.
func (c *Client) failure(ctx, watched context.Context, err error, key string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *llm.Error
	if !errors.As(err, &failed) {
		// Only go-openai's own checks are left: it will not send such a request.
		failed = &llm.Error{Kind: llm.ErrInvalidRequest, Message: err.Error()}
	}
	if failed.Status == 0 && errors.Is(context.Cause(watched), llm.ErrStalled) {
		failed = &llm.Error{Kind: llm.ErrStalled, Message: fmt.Sprintf("nothing arrived for %v", c.opts.IdleTimeout)}
	}
	failed.Provider = c.opts.Name
	failed.Message = llm.Clean(failed.Message, key)
	return failed
}

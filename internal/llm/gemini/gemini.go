// Package gemini speaks to Google's Gemini by its current SDK, genai. What the
// SDK does on its own account is switched off or caught: it resumes streams, logs
// to the process's log, reads keys from the environment, and panics on chunks of
// an unexpected shape.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/inquest-dev/inquest/internal/llm"
)

const (
	defaultBaseURL = "https://generativelanguage.googleapis.com"
	apiVersion     = "v1beta" // the one with native tools and JSON schemas
	// defaultIdle leaves models the time to think in silence.
	defaultIdle = 5 * time.Minute
)

// Options configure a Client.
type Options struct {
	// Name is the provider's name in errors and logs.
	Name string
	// BaseURL is the API's root, without a version; "" = Google's.
	BaseURL string
	// APIKey is asked for the key at each call. There must be one: without it the
	// SDK would look for another in the environment.
	APIKey func() (string, error)
	// IdleTimeout is how long the provider may be silent, also before the first
	// byte; 0 = 5 minutes.
	IdleTimeout time.Duration
	HTTPClient  *http.Client // nil = one without a timeout; redirects are never followed
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
		return nil, errors.New("gemini client: no name")
	}
	if opts.APIKey == nil {
		return nil, fmt.Errorf("gemini client %s: no API key", opts.Name)
	}
	if opts.BaseURL == "" {
		opts.BaseURL = defaultBaseURL
	}
	// The URL stays out of the error: it may hold a credential.
	if u, err := url.Parse(opts.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("gemini client %s: base_url is not an http or https URL", opts.Name)
	}
	if opts.IdleTimeout <= 0 {
		opts.IdleTimeout = defaultIdle
	}
	if opts.HTTPClient == nil {
		opts.HTTPClient = &http.Client{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Client{opts: opts}, nil
}

// Generate makes one call and streams the reply. It never tries again.
//
// The reply's provider state, if any, must come back with the message that the
// reply becomes: it has the signatures of the model's thoughts. Usage counts
// thoughts as output; its ModelCalls is left to the caller. A reply that was cut
// because it repeated itself (llm.FinishRepeating) has no tool calls.
func (c *Client) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	key, err := c.apiKey()
	if err != nil {
		return llm.Response{}, c.failure(ctx, ctx, err, key)
	}
	watched, idle := llm.WatchIdle(ctx, c.opts.IdleTimeout)
	defer idle.Stop()

	got := reply{asked: req.Model, tap: newTap(c.opts.HTTPClient), idle: idle, onDelta: onDelta}
	if err := c.stream(watched, key, req, &got); err != nil {
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
	key, err := c.opts.APIKey()
	if err != nil {
		return "", &llm.Error{Kind: llm.ErrNoKey, Message: err.Error()}
	}
	key = strings.TrimSpace(key)
	switch {
	case key == "":
		return "", &llm.Error{Kind: llm.ErrAuth, Message: "there is no API key"}
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return key, &llm.Error{Kind: llm.ErrAuth, Message: "the API key has characters that keys do not have"}
	}
	return key, nil
}

// stream sends the request and reads the reply.
func (c *Client) stream(ctx context.Context, key string, req llm.Request, got *reply) error {
	config, err := generateConfig(req)
	if err != nil {
		return err
	}
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey:      key,
		Backend:     genai.BackendGeminiAPI, // unset, the environment would choose
		HTTPClient:  got.tap.client(),
		HTTPOptions: genai.HTTPOptions{BaseURL: c.opts.BaseURL, APIVersion: apiVersion},
	})
	if err != nil {
		return err
	}
	return got.read(client.Models.GenerateContentStream(ctx, req.Model, contents(req), config))
}

// failure turns what went wrong into what Generate returns: the caller's own
// ctx.Err(), or an *llm.Error that is safe to show.
func (c *Client) failure(ctx, watched context.Context, err error, key string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *llm.Error
	if !errors.As(err, &failed) {
		// Only the SDK's own checks are left: it will not send such a request.
		failed = &llm.Error{Kind: llm.ErrInvalidRequest, Message: err.Error()}
	}
	if failed.Status == 0 && errors.Is(context.Cause(watched), llm.ErrStalled) {
		failed = &llm.Error{Kind: llm.ErrStalled, Message: fmt.Sprintf("nothing arrived for %v", c.opts.IdleTimeout)}
	}
	failed.Provider = c.opts.Name
	failed.Message = llm.Clean(failed.Message, key)
	return failed
}

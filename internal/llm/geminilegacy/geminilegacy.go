// Package geminilegacy speaks to Google's Gemini by its former SDK,
// generative-ai-go, which is past its end of life. It is for those who depend on
// it; package gemini is the better driver. The SDK knows neither thoughts, their
// signatures, call ids, nor native tools, so what needs them is refused. Its
// other faults are caught between it and the network: see transport and elements.
package geminilegacy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/option"

	"github.com/inquest-dev/inquest/internal/llm"
)

const (
	defaultBaseURL = "https://generativelanguage.googleapis.com"
	defaultIdle    = 5 * time.Minute
	// noKey is what the SDK is given, as it insists on a key; ours is set by the
	// transport, at each call.
	noKey = "set-by-the-transport"
)

// Options configure a Client.
type Options struct {
	// Name is the provider's name in errors and logs.
	Name string
	// BaseURL is the API's root, without a version; "" = Google's.
	BaseURL string
	// APIKey is asked for the key at each call.
	APIKey func() (string, error)
	// IdleTimeout is how long the provider may be silent, also before the first
	// byte; 0 = 5 minutes.
	IdleTimeout time.Duration
	HTTPClient  *http.Client // nil = one without a timeout; redirects are never followed
	Logger      *slog.Logger // nil = none
}

// Client is an llm.Client. It is safe for concurrent use.
type Client struct {
	opts      Options
	transport *transport

	mu  sync.Mutex
	sdk *genai.Client // made once: each leaves a connection behind that nothing closes
}

var _ llm.Client = (*Client)(nil)

// New checks the options and returns a client; it connects to nothing yet.
func New(opts Options) (*Client, error) {
	if opts.Name == "" {
		return nil, errors.New("geminilegacy client: no name")
	}
	if opts.APIKey == nil {
		return nil, fmt.Errorf("geminilegacy client %s: no API key", opts.Name)
	}
	if opts.BaseURL == "" {
		opts.BaseURL = defaultBaseURL
	}
	// The URL stays out of the error: it may hold a credential.
	base, err := url.Parse(opts.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("geminilegacy client %s: base_url is not an http or https URL", opts.Name)
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
	return &Client{opts: opts, transport: newTransport(base, opts)}, nil
}

// Generate makes one call and streams the reply. It never tries again.
//
// It refuses requests for thoughts and native tools, and tools for models that
// want signatures back. Usage counts thoughts as output; its ModelCalls is left to
// the caller. A reply that was cut because it repeated itself
// (llm.FinishRepeating) has no tool calls.
func (c *Client) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	watched, idle := llm.WatchIdle(ctx, c.opts.IdleTimeout)
	defer idle.Stop()

	call := &call{}
	got := reply{call: call, idle: idle, onDelta: onDelta}
	if err := c.stream(withCall(watched, call), req, &got); err != nil {
		return llm.Response{}, c.failure(ctx, watched, err, call.key)
	}
	resp, err := got.response()
	if err != nil {
		return llm.Response{}, c.failure(ctx, watched, err, call.key)
	}
	if resp.Finish == llm.FinishRepeating {
		c.opts.Logger.WarnContext(ctx, "cut a reply that repeated itself", "provider", c.opts.Name, "model", resp.Model)
	}
	return resp, nil
}

// stream sends the request and reads the reply.
func (c *Client) stream(ctx context.Context, req llm.Request, got *reply) error {
	if err := refuse(req); err != nil {
		return err
	}
	turns := contents(req.Messages)
	if len(turns) == 0 {
		return errors.New("there is no message to answer")
	}
	client, err := c.client(ctx)
	if err != nil {
		return err
	}
	model := client.GenerativeModel(req.Model)
	if err := configure(model, req); err != nil {
		return err
	}
	last := len(turns) - 1
	chat := model.StartChat()
	chat.History = turns[:last]
	return got.read(func() *genai.GenerateContentResponseIterator {
		return chat.SendMessageStream(ctx, turns[last].Parts...)
	})
}

// client returns the SDK's client, which lives as long as ours.
func (c *Client) client(ctx context.Context) (*genai.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sdk != nil {
		return c.sdk, nil
	}
	client := *c.opts.HTTPClient
	client.Transport = c.transport
	sdk, err := genai.NewClient(context.WithoutCancel(ctx), option.WithAPIKey(noKey), option.WithHTTPClient(&client))
	if err != nil {
		return nil, err
	}
	c.sdk = sdk
	return sdk, nil
}

// failure turns what went wrong into what Generate returns: the caller's own
// ctx.Err(), or an *llm.Error that is safe to show.
func (c *Client) failure(ctx, watched context.Context, err error, key string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *llm.Error
	if !errors.As(err, &failed) {
		// Only checks are left, ours and the SDK's: the request was not sent.
		failed = &llm.Error{Kind: llm.ErrInvalidRequest, Message: err.Error()}
	}
	if failed.Status == 0 && errors.Is(context.Cause(watched), llm.ErrStalled) {
		failed = &llm.Error{Kind: llm.ErrStalled, Message: fmt.Sprintf("nothing arrived for %v", c.opts.IdleTimeout)}
	}
	failed.Provider = c.opts.Name
	failed.Message = llm.Clean(failed.Message, key)
	return failed
}

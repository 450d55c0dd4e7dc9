package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
)

const (
	maxWhy    = 240 // characters of why a part of a request is omitted
	roomForID = 80  // characters of an error's message
)

// defaultIdle gives models the time to think silently: providers send nothing before the first visible token.
const defaultIdle = 5 * time.Minute

// Options configure the client of a provider.
type Options struct {
	// Name is the provider's name in errors and logs.
	Name string
	// BaseURL is the API's root, in the form for the provider's driver. Empty means the provider's own.
	BaseURL string
	// APIKey returns the key and is called for each call. It is nil or returns an empty key for servers without keys.
	APIKey func() (string, error)
	// IdleTimeout is how long the provider may be silent, including before the first byte. Zero means 5 minutes.
	IdleTimeout time.Duration
	HTTPClient  *http.Client // nil means one without a timeout that keeps connections
	// Dialect is what the provider's server accepts; the zero value means the driver's default.
	Dialect agent.Dialect
	Logger  *slog.Logger // nil means no log
}

// Driver describes the client of a provider.
type Driver struct {
	Name    string // for errors about the options
	BaseURL string // the default; empty if the options must have one
	Keyed   bool   // a key is required
	Dialect agent.Dialect
}

// Guard wraps the calls of all drivers: it provides the key, ends a call whose provider is silent, and makes errors
// safe to show.
type Guard struct {
	Options
	driver Driver
}

// NewGuard checks the options and fills in the defaults.
func NewGuard(driver Driver, opts Options) (Guard, error) {
	if opts.Name == "" {
		return Guard{}, fmt.Errorf("%s client: no name", driver.Name)
	}
	if opts.APIKey == nil && driver.Keyed {
		return Guard{}, fmt.Errorf("%s client %s: no API key", driver.Name, opts.Name)
	}
	if opts.APIKey == nil {
		opts.APIKey = func() (string, error) { return "", nil }
	}
	if opts.BaseURL == "" {
		opts.BaseURL = driver.BaseURL
	}
	// The URL may hold a credential, so the error omits it.
	if u, err := url.Parse(opts.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Guard{}, fmt.Errorf("%s client %s: base_url is not an http or https URL", driver.Name, opts.Name)
	}
	if opts.Dialect == (agent.Dialect{}) {
		opts.Dialect = driver.Dialect
	}
	if opts.IdleTimeout <= 0 {
		opts.IdleTimeout = defaultIdle
	}
	if opts.HTTPClient == nil {
		opts.HTTPClient = keepingClient()
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return Guard{Options: opts, driver: driver}, nil
}

// Call is a driver's part of a call.
type Call func(ctx context.Context, key string, idle *Idle, onDelta OnDelta) (Response, error)

// OnDelta is called for every chunk of a reply.
type OnDelta = func(Delta)

// Call makes one call. It returns the caller's own ctx.Err() or an *Error. Any other error of the driver counts as a
// request that could not be sent. If a response comes with an error, only its usage is used. The driver passes the text
// that it reads to onDelta. The guard removes thinking that a model has written into the text and, if the dialect says
// that the server leaves them there, calls.
func (g *Guard) Call(ctx context.Context, req Request, onDelta func(Delta), call Call) (Response, error) {
	key, err := g.key()
	if err != nil {
		return Response{}, g.failure(ctx, ctx, err, key, agent.Usage{})
	}
	watched, idle := WatchIdle(ctx, g.IdleTimeout)
	defer idle.Stop()
	said := newSaid(req, g.Dialect.WrittenCalls, onDelta)
	resp, err := call(watched, key, idle, said.delta)
	if err != nil {
		return Response{}, g.failure(ctx, watched, err, key, resp.Usage)
	}
	resp = said.whole(resp)
	for n := range resp.Omitted { // they quote the server
		resp.Omitted[n].Why = clip.Fit(Clean(resp.Omitted[n].Why, key), maxWhy)
	}
	if resp.Finish == FinishRepeating {
		g.Logger.WarnContext(ctx, "cut off a reply that repeated itself", "provider", g.Name, "model", resp.Model)
	}
	return resp, nil
}

// key returns the key. It refuses a key that a header cannot hold, because net/http would report that like a lost
// connection.
func (g *Guard) key() (string, error) {
	key, err := g.APIKey()
	if err != nil {
		return "", &Error{Kind: ErrNoKey, Message: err.Error()}
	}
	key = strings.TrimSpace(key)
	switch {
	case key == "" && g.driver.Keyed:
		return "", &Error{Kind: ErrAuth, Message: "the API key is empty"}
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return key, &Error{Kind: ErrAuth, Message: "the API key contains spaces or other invalid characters"}
	}
	return key, nil
}

// failure converts an error to the error of a client.
func (g *Guard) failure(ctx, watched context.Context, err error, key string, used agent.Usage) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *Error
	if !errors.As(err, &failed) {
		// Only our checks and the SDK's are left, so the request was not sent.
		failed = &Error{Kind: ErrInvalidRequest, Message: err.Error()}
	}
	if failed.Status == 0 && errors.Is(context.Cause(watched), ErrStalled) {
		failed = &Error{Kind: ErrStalled, Message: fmt.Sprintf("no data received for %v", g.IdleTimeout)}
	}
	failed.Provider, failed.Usage = g.Name, used
	failed.Message = Clean(failed.Message, key)
	if id := Clean(failed.RequestID, key); id != "" { // it is not cut off with a long text
		failed.Message = clip.Fit(failed.Message, maxMessage-roomForID) + " (request " + clip.Fit(id, roomForID-len(" (request )")) + ")"
	}
	return failed
}

// Idle ends a context when a stream is silent for too long. Only the time spent waiting for the provider counts, so
// slow processing of the reply does not matter.
type Idle struct {
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// WatchIdle returns a context that ends with the cause ErrStalled once nothing has arrived for limit. The wait begins
// at once. The caller must call Stop.
func WatchIdle(ctx context.Context, limit time.Duration) (context.Context, *Idle) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(ErrStalled) })
	return ctx, &Idle{limit: limit, timer: timer, cancel: cancel}
}

// Wait starts the wait for the next chunk.
func (i *Idle) Wait() { i.timer.Reset(i.limit) }

// Arrived ends the wait.
func (i *Idle) Arrived() { i.timer.Stop() }

// Stop ends the watch and its context.
func (i *Idle) Stop() {
	i.timer.Stop()
	i.cancel(context.Canceled)
}

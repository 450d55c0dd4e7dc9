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
)

// defaultIdle leaves models the time to think in silence: providers send nothing
// before the first visible token.
const defaultIdle = 5 * time.Minute

// Options configure the client of a provider.
type Options struct {
	// Name is the provider's name in errors and logs.
	Name string
	// BaseURL is the API's root, as the provider's driver wants it; "" = the
	// provider's own.
	BaseURL string
	// APIKey is asked for the key at each call; nil or an empty key for servers
	// that want none.
	APIKey func() (string, error)
	// IdleTimeout is how long the provider may be silent, also before the first
	// byte; 0 = 5 minutes.
	IdleTimeout time.Duration
	HTTPClient  *http.Client // nil = one without a timeout, which keeps its connections
	// Dialect is what the provider's server accepts; the zero value means the driver's default.
	Dialect agent.Dialect
	Logger  *slog.Logger // nil = none
}

// Driver is what the options cannot know of whoever speaks to a provider.
type Driver struct {
	Name    string // in errors of the options
	BaseURL string // where the options have none; "" = they must
	Keyed   bool   // there is no call without a key
	Dialect agent.Dialect
}

// Guard is what all drivers do around a call: it has the key, ends a call whose
// provider is silent, and turns what went wrong into an error that is safe to show.
type Guard struct {
	Options
	driver Driver
}

// NewGuard checks the options and fills in what they leave out.
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
	// The URL stays out of the error: it may hold a credential.
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

// Call makes one call. What the driver returns is the caller's own ctx.Err(), or an
// *Error; any other error of its own counts as a request that could not be sent. Of a
// response beside an error, the usage counts. The driver tells onDelta what it reads; the guard takes out the thoughts
// that a model has written into the text and, if the dialect says that the server leaves them there, the calls.
func (g Guard) Call(ctx context.Context, req Request, onDelta func(Delta), call Call) (Response, error) {
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
	for n := range resp.Omitted { // it quotes the server
		resp.Omitted[n].Why = Clean(resp.Omitted[n].Why, key)
	}
	if resp.Finish == FinishRepeating {
		g.Logger.WarnContext(ctx, "cut a reply that repeated itself", "provider", g.Name, "model", resp.Model)
	}
	return resp, nil
}

// key reads the key. It refuses one that no header can hold, because net/http
// would report that like a lost connection.
func (g Guard) key() (string, error) {
	key, err := g.APIKey()
	if err != nil {
		return "", &Error{Kind: ErrNoKey, Message: err.Error()}
	}
	key = strings.TrimSpace(key)
	switch {
	case key == "" && g.driver.Keyed:
		return "", &Error{Kind: ErrAuth, Message: "there is no API key"}
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return key, &Error{Kind: ErrAuth, Message: "the API key has characters that keys do not have"}
	}
	return key, nil
}

// failure turns what went wrong into what a client returns.
func (g Guard) failure(ctx, watched context.Context, err error, key string, used agent.Usage) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *Error
	if !errors.As(err, &failed) {
		// Only checks are left, ours and the SDK's: the request was not sent.
		failed = &Error{Kind: ErrInvalidRequest, Message: err.Error()}
	}
	if failed.Status == 0 && errors.Is(context.Cause(watched), ErrStalled) {
		failed = &Error{Kind: ErrStalled, Message: fmt.Sprintf("nothing arrived for %v", g.IdleTimeout)}
	}
	failed.Provider, failed.Usage = g.Name, used
	failed.Message = Clean(failed.Message, key)
	return failed
}

// Idle ends a context when a stream is silent for too long. Only the time spent
// waiting for the provider counts, so a slow reader of ours stalls nothing.
type Idle struct {
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// WatchIdle returns a context that ends, with ErrStalled as its cause, once
// nothing has arrived for limit. The wait begins at once. The caller stops it.
func WatchIdle(ctx context.Context, limit time.Duration) (context.Context, *Idle) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(ErrStalled) })
	return ctx, &Idle{limit: limit, timer: timer, cancel: cancel}
}

// Wait says that the next chunk is being waited for.
func (i *Idle) Wait() { i.timer.Reset(i.limit) }

// Arrived says that it has come.
func (i *Idle) Arrived() { i.timer.Stop() }

// Stop ends the watch and its context.
func (i *Idle) Stop() {
	i.timer.Stop()
	i.cancel(context.Canceled)
}

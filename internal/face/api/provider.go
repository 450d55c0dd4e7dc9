package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	oidcTimeout = 10 * time.Second
	// askEvery is the minimum time between two requests for the provider's keys, and between two attempts to reach a provider that did
	// not answer. Strangers can cause such requests: every token that matches no key does.
	askEvery = 10 * time.Second
)

// errCool means that the keys were fetched a moment ago.
var errCool = errors.New("the identity provider's keys were fetched a moment ago")

// provider is an identity provider. It is contacted on first use, so the API can start while the provider is down.
type provider struct {
	issuer, audience string
	ctx              context.Context // carries the HTTP client for its requests
	gate             *gate

	mu     sync.Mutex
	verify *oidc.IDTokenVerifier // nil until the provider has answered
	asking chan struct{}         // closed when the current attempt ends; nil without an attempt
	failed time.Time             // when the last attempt failed
}

func newProvider(ctx context.Context, issuer, audience string) *provider {
	g := &gate{next: http.DefaultTransport, now: time.Now}
	client := &http.Client{Timeout: oidcTimeout, Transport: g}
	return &provider{issuer: issuer, audience: audience, gate: g, ctx: oidc.ClientContext(ctx, client)}
}

// token verifies an identity token. It returns errUnknown or errProvider.
func (p *provider) token(ctx context.Context, raw string) (*oidc.IDToken, error) {
	verify, err := p.verifier(ctx)
	if err != nil {
		return nil, err
	}
	token, err := verify.Verify(ctx, raw)
	if err != nil && strings.Contains(err.Error(), "fetching keys") && p.gate.broken() { // the library hides the cause
		return nil, errProvider
	}
	if err != nil {
		return nil, errUnknown
	}
	return token, nil
}

// verifier returns the token verifier. Concurrent callers share one attempt to reach the provider. Right after a failed attempt they
// do not wait at all.
func (p *provider) verifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	p.mu.Lock()
	if p.verify != nil {
		defer p.mu.Unlock()
		return p.verify, nil
	}
	if p.asking == nil && p.gate.now().Sub(p.failed) < askEvery {
		p.mu.Unlock()
		return nil, errProvider
	}
	if p.asking == nil {
		p.asking = make(chan struct{})
		go p.discover()
	}
	asking := p.asking
	p.mu.Unlock()
	select {
	case <-asking:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.verify == nil {
		return nil, errProvider
	}
	return p.verify, nil
}

func (p *provider) discover() {
	found, err := oidc.NewProvider(p.ctx, p.issuer)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed = p.gate.now()
	} else {
		p.verify = found.Verifier(&oidc.Config{ClientID: p.audience, Now: func() time.Time { return p.gate.now() }})
	}
	close(p.asking)
	p.asking = nil
}

// gate lets one request for keys through per askEvery. The library fetches the keys again for each token that matches none of them and
// caches the result, so a new key is known at most askEvery after the last request.
type gate struct {
	next http.RoundTripper
	now  func() time.Time

	mu   sync.Mutex
	last time.Time
	bad  bool // the last request failed
}

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") {
		return g.next.RoundTrip(r)
	}
	g.mu.Lock()
	now := g.now()
	if cool := now.Sub(g.last) < askEvery; cool {
		g.mu.Unlock()
		return nil, errCool
	}
	g.last = now
	g.mu.Unlock()
	answer, err := g.next.RoundTrip(r)
	g.mu.Lock()
	g.bad = err != nil || answer.StatusCode != http.StatusOK
	g.mu.Unlock()
	return answer, err
}

func (g *gate) broken() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.bad
}

package webhook

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	snsTimeout  = 10 * time.Second
	maxAnswer   = 64 << 10 // bytes of a certificate or a confirmation
	maxCerts    = 64       // cached certificates
	maxRefused  = 1024     // cached addresses without a certificate
	keepRefused = time.Minute
	// Strangers can invent certificate addresses. These limits protect Amazon from a flood, and the other senders from one that uses up
	// the budget.
	certsOfSender = 10  // per minute and sender
	certsInMinute = 300 // per minute, all senders together
)

// SNS checks Amazon SNS signatures and confirms subscriptions. It sends requests only to Amazon's hosts. It is safe for concurrent use.
type SNS struct {
	client *http.Client
	now    func() time.Time

	mu      sync.Mutex
	certs   map[string]*x509.Certificate
	refused map[string]refusal
	flights map[string]*flight
	minute  time.Time      // start of the counts
	counts  map[string]int // fetched certificates, by sender
	total   int
}

// A flight is a request for a certificate. Its results may be read once done is closed.
type flight struct {
	done chan struct{}
	cert *x509.Certificate
	err  error
}

// A refusal is why an address has no certificate.
type refusal struct {
	err   error
	until time.Time
}

// NewSNS returns a checker that reaches Amazon through transport; nil means http.DefaultTransport. A nil now means time.Now.
func NewSNS(transport http.RoundTripper, now func() time.Time) *SNS {
	if now == nil {
		now = time.Now
	}
	return &SNS{
		now: now, certs: map[string]*x509.Certificate{}, refused: map[string]refusal{}, flights: map[string]*flight{},
		counts: map[string]int{},
		client: &http.Client{
			Transport: transport, Timeout: snsTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// certificate returns the certificate at an address. Concurrent calls for an address share one request, which continues if one of their
// contexts ends.
func (s *SNS) certificate(ctx context.Context, address, sender string) (*x509.Certificate, error) {
	f, err := s.fetching(ctx, address, sender)
	if err != nil {
		return nil, err
	}
	select {
	case <-f.done:
		return f.cert, f.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrSNS, ctx.Err())
	}
}

// fetching returns the flight for an address, and starts it unless the result is known.
func (s *SNS) fetching(ctx context.Context, address, sender string) (*flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if cert := s.certs[address]; cert != nil {
		f := &flight{done: make(chan struct{}), cert: cert}
		close(f.done)
		return f, nil
	}
	if known := s.refused[address]; now.Before(known.until) {
		return nil, known.err
	}
	if f := s.flights[address]; f != nil {
		return f, nil
	}
	if now.Sub(s.minute) >= time.Minute {
		s.minute, s.counts, s.total = now, map[string]int{}, 0
	}
	if s.counts[sender] >= certsOfSender || s.total >= certsInMinute {
		return nil, fmt.Errorf("%w: too many certificate requests within a minute", ErrSNS)
	}
	s.counts[sender]++
	s.total++
	f := &flight{done: make(chan struct{})}
	s.flights[address] = f
	ctx = context.WithoutCancel(ctx) // the client has a timeout, and other callers may be waiting
	go func() {
		f.cert, f.err = s.fetch(ctx, address)
		s.landed(address, f)
		close(f.done)
	}()
	return f, nil
}

// landed caches the result of a flight, unless it says nothing about the address, such as a timeout.
func (s *SNS) landed(address string, f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flights, address)
	switch {
	case f.err == nil:
		bound(s.certs, maxCerts)
		s.certs[address] = f.cert
	case errors.Is(f.err, ErrEnvelope):
		bound(s.refused, maxRefused)
		s.refused[address] = refusal{f.err, s.now().Add(keepRefused)}
	}
}

// bound makes room for one more entry in a map of at most limit entries.
func bound[V any](entries map[string]V, limit int) {
	for key := range entries {
		if len(entries) < limit {
			return
		}
		delete(entries, key)
	}
}

func (s *SNS) fetch(ctx context.Context, address string) (*x509.Certificate, error) {
	raw, err := s.get(ctx, address)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, fmt.Errorf("%w: SigningCertURL has no certificate", ErrEnvelope)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: SigningCertURL: %w", ErrEnvelope, err)
	}
	return cert, nil
}

func (s *SNS) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSNS, err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch status := answer.StatusCode; {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrSNS, err)
	case status == http.StatusOK:
		return raw, nil
	case status >= http.StatusInternalServerError, status == http.StatusForbidden, status == http.StatusProxyAuthRequired,
		status == http.StatusRequestTimeout, status == http.StatusTooManyRequests: // says nothing about the address
		return nil, fmt.Errorf("%w: Amazon SNS returned %s", ErrSNS, answer.Status)
	}
	return nil, fmt.Errorf("%w: Amazon SNS returned %s", ErrEnvelope, answer.Status)
}

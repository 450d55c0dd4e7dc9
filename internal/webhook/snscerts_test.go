package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/webhook/webhooktest"
)

// checks returns a function that checks a message signed with the certificate at a path.
func checks(t *testing.T, amazon *webhooktest.SNS, checker *SNS) func(ctx context.Context, sender, path string) error {
	t.Helper()
	fields := map[string]any{}
	if err := json.Unmarshal(fixture(t, "sns-notification"), &fields); err != nil {
		t.Fatal(err)
	}
	amazon.Sign(fields, "2")
	raw, _ := json.Marshal(fields)
	signed := readEnvelope(t, raw)
	return func(ctx context.Context, sender, path string) error {
		e := signed
		e.SigningCertURL = snsAt + path
		return checker.Check(ctx, e, sender, nil, SNSTolerance)
	}
}

// Invented certificate addresses do not flood Amazon, and do not keep known or new certificates from other senders.
func TestCertificatesAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2012, 5, 2, 0, 55, 0, 0, time.UTC)
	amazon := webhooktest.NewSNS(now)
	checker := NewSNS(amazon, func() time.Time { return now })
	check := checks(t, amazon, checker)
	for range 50 {
		if err := check(t.Context(), "amazon", cert); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 200 {
		if err := check(t.Context(), "stranger", fmt.Sprintf("/SimpleNotificationService-none%d.pem", n)); err == nil {
			t.Fatal("accepted")
		}
	}
	if got := len(amazon.Asked()); got != 1+certsOfSender {
		t.Errorf("Amazon was asked %d times", got)
	}
	if err := check(t.Context(), "stranger", cert); err != nil {
		t.Errorf("the known certificate: %v", err)
	}
	if err := check(t.Context(), "amazon", "/SimpleNotificationService-new.pem"); err != nil {
		t.Errorf("a new certificate: %v", err)
	}
	for n := range 2 * certsInMinute {
		_ = check(t.Context(), fmt.Sprint("stranger", n), fmt.Sprintf("/SimpleNotificationService-none%dx.pem", n))
	}
	if got := len(amazon.Asked()); got > certsInMinute {
		t.Errorf("Amazon was asked %d times", got)
	}
	now = now.Add(2 * time.Minute)
	if err := check(t.Context(), "stranger", "/SimpleNotificationService-other.pem"); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

// An address without a certificate is requested once a minute. An outage at Amazon does not count against the address.
func TestRefusedCertificates(t *testing.T) {
	t.Parallel()
	now := time.Date(2012, 5, 2, 0, 55, 0, 0, time.UTC)
	amazon := webhooktest.NewSNS(now)
	checker := NewSNS(amazon, func() time.Time { return now })
	check := checks(t, amazon, checker)
	for path, want := range map[string]int{"none": 1, "empty": 1, "away": 3, "forbidden": 3} {
		before := len(amazon.Asked())
		for range 3 {
			if err := check(t.Context(), path, "/SimpleNotificationService-"+path+".pem"); err == nil {
				t.Errorf("%s: accepted", path)
			}
		}
		if got := len(amazon.Asked()) - before; got != want {
			t.Errorf("%s: Amazon was asked %d times, want %d", path, got, want)
		}
	}
	now = now.Add(keepRefused)
	before := len(amazon.Asked())
	if err := check(t.Context(), "", "/SimpleNotificationService-none.pem"); !errors.Is(err, ErrEnvelope) || len(amazon.Asked()) != before+1 {
		t.Errorf("a minute later: %v", err)
	}
	for n := range 3 * maxRefused {
		bound(checker.refused, maxRefused)
		checker.refused[fmt.Sprint(n)] = refusal{}
	}
	if len(checker.refused) > maxRefused {
		t.Errorf("%d addresses are kept", len(checker.refused))
	}
}

// gate delays requests for some addresses until it opens.
type gate struct {
	http.RoundTripper
	slow          string
	began, opened chan struct{}
	once          sync.Once
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, g.slow) {
		g.once.Do(func() { close(g.began) })
		select {
		case <-g.opened:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return g.RoundTripper.RoundTrip(r)
}

// A slow certificate does not delay others. Messages that need it share one request, which continues after the first sender has left.
func TestSlowCertificates(t *testing.T) {
	t.Parallel()
	now := time.Date(2012, 5, 2, 0, 55, 0, 0, time.UTC)
	amazon := webhooktest.NewSNS(now)
	g := &gate{RoundTripper: amazon, slow: "slow", began: make(chan struct{}), opened: make(chan struct{})}
	check := checks(t, amazon, NewSNS(g, func() time.Time { return now }))
	const slow = "/SimpleNotificationService-slow.pem"
	first, gone := context.WithCancel(t.Context())
	results := make(chan error, 20)
	go func() { results <- check(first, "first", slow) }()
	<-g.began
	for range 19 {
		go func() { results <- check(t.Context(), "others", slow) }()
	}
	gone()
	if err := <-results; !errors.Is(err, ErrSNS) {
		t.Errorf("the sender that is gone: %v", err)
	}
	if err := check(t.Context(), "others", cert); err != nil {
		t.Errorf("another certificate: %v", err)
	}
	close(g.opened)
	for range 19 {
		if err := <-results; err != nil {
			t.Errorf("one that waited: %v", err)
		}
	}
	if asked := amazon.Asked(); len(asked) != 2 {
		t.Errorf("asked %q", asked)
	}
}

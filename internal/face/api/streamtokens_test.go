package api

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/configuration"
)

// A stream ends when its token is revoked or loses the project. Streams with another token go on.
func TestStreamsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(map[string]config.Token){
		"revoked": func(tokens map[string]config.Token) { delete(tokens, "viewer") },
		"of another project": func(tokens map[string]config.Token) {
			moved := tokens["viewer"]
			moved.Projects = []string{"search"}
			tokens["viewer"] = moved
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			id := w.running("slow", "payments")
			w.api.streams.checkEvery = 10 * time.Millisecond
			one := w.stream("viewer", "/api/v1/investigations/slow/events", "")
			list := w.stream("viewer", "/api/v1/events", "")
			other := w.stream("operator", "/api/v1/investigations/slow/events", "")
			for _, s := range []*stream{one, list, other} {
				s.begins()
			}
			cfg := *w.api.opts.Config()
			cfg.System.HTTP.Tokens = maps.Clone(cfg.System.HTTP.Tokens)
			change(cfg.System.HTTP.Tokens)
			w.api.door.mu.Lock()
			w.api.door.config = func() *configuration.Config { return &cfg }
			w.api.door.mu.Unlock()
			one.ends()
			list.ends()
			w.say(id, 1, "still there")
			other.entry("still there")
		})
	}
}

// A stream ends when the identity provider's token expires, and not before.
func TestStreamsEndWhenTheTokenExpires(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	w := open(t, strings.Replace(whoMay(), "{http: {", fmt.Sprintf(
		"{http: {oidc: {issuer: %q, audience: inquest, groups: {sre: {role: viewer, projects: [payments]}}}, ", i.url), 1)+
		"agents: {Memo: {}}\nagent_chains: {shop: {projects: [payments], stages: [{name: dig, agents: [{name: Memo}]}]}}\n")
	var clock atomic.Pointer[time.Time]
	var checks atomic.Int64
	start := time.Now()
	clock.Store(&start)
	w.api.door.now().provider.gate.now = func() time.Time {
		checks.Add(1)
		return *clock.Load()
	}
	id := w.running("slow", "payments")
	w.api.streams.checkEvery = 10 * time.Millisecond
	brief := i.token(i.key, map[string]any{"exp": start.Add(time.Hour).Unix()})
	long := i.token(i.key, map[string]any{"exp": start.Add(2 * time.Hour).Unix()})
	one := w.streamOf(brief, "/api/v1/investigations/slow/events", "")
	list := w.streamOf(brief, "/api/v1/events", "")
	other := w.streamOf(long, "/api/v1/investigations/slow/events", "")
	for _, s := range []*stream{one, list, other} {
		s.begins()
	}
	before := checks.Load()
	eventually(t, "the tokens of the streams are checked", func() bool { return checks.Load() > before+10 })
	w.say(id, 1, "still valid")
	one.entry("still valid")
	other.entry("still valid")
	later := start.Add(time.Hour + time.Minute)
	clock.Store(&later)
	one.ends()
	list.ends()
	w.say(id, 2, "still there")
	other.entry("still there")
}

// begins waits for the first line.
func (s *stream) begins() {
	s.t.Helper()
	if !s.lines.Scan() {
		s.t.Fatalf("the stream does not begin: %v", s.lines.Err())
	}
}

// ends waits for the end, after events that were already sent.
func (s *stream) ends() {
	s.t.Helper()
	for s.lines.Scan() {
	}
	if err := s.lines.Err(); err != nil {
		s.t.Errorf("the stream does not end: %v", err)
	}
}

// The number of streams per token is limited, and closing one makes room.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.running("slow", "payments")
	var leaves []func()
	for range maxStreams - 1 {
		leave, err := w.api.streams.seats.take("viewer")
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	last := w.stream("viewer", "/api/v1/events", "")
	for _, path := range []string{"/api/v1/events", "/api/v1/investigations/slow/events"} {
		got := w.call("viewer", "GET", path, nil)
		if got.status != http.StatusTooManyRequests || !strings.Contains(got.body, "200 streams") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	w.stream("operator", "/api/v1/events", "")
	last.leave()
	eventually(t, "the place of a stream that was left is free", func() bool {
		leave, err := w.api.streams.seats.take("viewer")
		if err == nil {
			leave()
		}
		return err == nil
	})
	for _, leave := range leaves {
		leave()
	}
}

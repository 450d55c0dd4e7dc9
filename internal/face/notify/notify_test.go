package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/notify"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
	"github.com/inquest-dev/inquest/value"
)

const secret = "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"

// world is a store, and receivers that the test controls. It runs within a bubble of synctest, so that hours pass at once.
type world struct {
	*testing.T
	store *store.Store
	opts  notify.Options
	stop  func()

	mu     sync.Mutex
	got    []string // what each receiver has accepted, as "host: event"
	bodies map[string][]byte
	ids    []string
	answer func(host string) (status int, header http.Header)
}

// newWorld returns a world in which notifications are sent. Its clock begins on Saturday, 1 January 2000, at midnight UTC.
func newWorld(t *testing.T, settings config.Notifications) *world {
	st, err := store.Open(t.Context(), store.At(filepath.Join(t.TempDir(), "inquest.db")))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, store: st, bodies: map[string][]byte{}, answer: func(string) (int, http.Header) { return http.StatusOK, nil }}
	w.opts = notify.Options{
		Settings: settings, Calendar: plan.Calendar{Timezone: "Europe/Berlin"}, PageURL: "https://inquest.example.com",
		Client: &http.Client{Transport: w}, System: w, Store: st, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if _, err := st.Lease(t.Context(), record.NotificationsLease, "an earlier process", 0); err != nil {
		t.Fatal(err)
	}
	w.run()
	t.Cleanup(func() {
		w.stop()
		_ = st.Close()
	})
	return w
}

func (w *world) run() {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		notify.Run(ctx, w.opts)
	}()
	w.stop = func() {
		cancel()
		<-done
	}
}

// RoundTrip receives what is sent.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	status, header := w.answer(r.URL.Host)
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	w.ids = append(w.ids, r.Header.Get(standardwebhooks.HeaderWebhookID))
	if status == http.StatusOK {
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			w.Error(err)
		}
		if err := key.Verify(body, r.Header); err != nil {
			w.Errorf("%v: %s", err, body)
		}
		var e notify.Event
		if err := json.Unmarshal(body, &e); err != nil {
			w.Errorf("%v: %s", err, body)
		}
		what := strings.TrimPrefix(string(e.Type), "investigation.") + " " + e.Investigation.ID
		if e.Approval != nil {
			what += " " + e.Approval.CallID
		}
		w.got, w.bodies[what] = append(w.got, r.URL.Host+": "+what), body
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: header, Request: r, Body: io.NopCloser(strings.NewReader("what I say")),
	}, nil
}

// passes lets time pass, and returns what was accepted meanwhile, sorted.
func (w *world) passes(d time.Duration) []string {
	w.Helper()
	<-time.After(d) // by the bubble's clock
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.got
	w.got = nil
	slices.Sort(got)
	return got
}

func (w *world) wants(what string, got []string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (w *world) answers(with func(host string) (int, http.Header)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = with
}

func (w *world) Whole(ctx context.Context, id string) (system.Record, error) {
	r, err := w.store.Investigation(ctx, id)
	return system.Record{Investigation: r}, err
}

func (w *world) Evidence(context.Context, system.Record) (evidence.Evidence, error) {
	return evidence.Evidence{}, errors.New("none is recorded")
}

func (w *world) start(id string, change func(*record.Investigation)) record.Investigation {
	w.Helper()
	r := record.Investigation{
		ID: id, WorkflowID: id, Chain: "dig", PlanHash: "p", Status: agent.StatusRunning, StartedAt: time.Now().UTC(), Writer: "run",
		Labels: agent.Labels{Project: "shop", Metadata: map[string]string{agent.Severity: "Critical"}},
	}
	r.Envelope.By = "webhook alertmanager"
	if change != nil {
		change(&r)
	}
	if err := w.store.StartInvestigation(w.Context(), r); err != nil {
		w.Fatal(err)
	}
	return r
}

// waits records that an investigation waits for approvals of calls.
func (w *world) waits(id string, seq int, calls ...string) {
	w.Helper()
	now := record.Waiting{Investigation: id, WorkflowID: id, RunID: "run", Seq: seq, Status: agent.StatusWaitingApproval}
	for _, call := range calls {
		now.Approvals = append(now.Approvals, record.Approval{
			CallID: call, Tool: "kubectl.delete", Execution: "fix/A", Agent: "A", Arguments: `{"pod":"checkout"}`, Digest: "d " + call,
			Risk: agent.RiskDestructive, Expires: time.Now().Add(time.Hour).UTC(), Reason: "It is stuck. [See](https://evil.example/)",
		})
	}
	if err := w.store.SetWaiting(w.Context(), now); err != nil {
		w.Fatal(err)
	}
}

func (w *world) finish(r record.Investigation) {
	w.Helper()
	r.Status, r.EndedAt = agent.StatusCompleted, new(time.Now().UTC())
	r.Report = "# Root cause\n\nThe pool is exhausted.\n\n# Next\n\n1. Enlarge it."
	if err := w.store.FinishInvestigation(w.Context(), r); err != nil {
		w.Fatal(err)
	}
}

func hook(host string) config.NotificationChannel {
	return config.NotificationChannel{Type: config.NotifyWebhook, URL: "https://" + host + "/secret-path", Secret: secret}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Notifications{
			Channels: map[string]config.NotificationChannel{"all": hook("all"), "ends": hook("ends")},
			Routes: []config.NotificationRoute{
				{Channels: []string{"all"}}, {Channels: []string{"all", "ends"}, Events: []string{config.EventFinished}},
			},
		})
		r := w.start("i", nil)
		w.waits("i", 1, "c1")
		w.waits("i", 2, "c1", "c2")
		w.wants("everything in order", w.passes(10*time.Second), "all: started i", "all: waiting i c1", "all: waiting i c2")
		w.waits("i", 3)
		w.finish(r)
		w.wants("the end, once for each channel", w.passes(10*time.Second), "all: finished i", "ends: finished i")
		checkSchema(t, w.bodies)

		var end notify.Event
		if err := json.Unmarshal(w.bodies["finished i"], &end); err != nil {
			t.Fatal(err)
		}
		if end.Report == nil || end.Report.Brief.Cause != "The pool is exhausted." || end.Investigation.Severity != "Critical" ||
			end.Investigation.URL != "https://inquest.example.com/#/i" {
			t.Errorf("%s", w.bodies["finished i"])
		}
	})
}

// A receiver that is away gets everything later, in order and with the same ID. One that refuses an event does not get it again.
func TestRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Notifications{
			Channels: map[string]config.NotificationChannel{"a": hook("a"), "b": hook("b")},
			Routes:   []config.NotificationRoute{{Channels: []string{"a", "b"}}},
		})
		away := true
		w.answers(func(host string) (int, http.Header) {
			switch {
			case host == "b":
				return http.StatusOK, nil
			case away:
				return 0, nil
			}
			return http.StatusOK, nil
		})
		r := w.start("i", nil)
		w.finish(r)
		w.wants("one receiver is away", w.passes(20*time.Minute), "b: finished i", "b: started i")
		w.stop()
		w.run() // another process
		w.mu.Lock()
		away = false
		w.mu.Unlock()
		w.wants("it is back", w.passes(10*time.Minute), "a: finished i", "a: started i")

		begin := time.Now()
		var tried []time.Duration
		w.answers(func(host string) (int, http.Header) {
			if host == "b" {
				return http.StatusOK, nil
			}
			tried = append(tried, time.Since(begin).Round(time.Second))
			if len(tried) == 1 {
				return http.StatusTooManyRequests, http.Header{"Retry-After": {"600"}}
			}
			return http.StatusBadRequest, nil
		})
		w.ids = nil
		w.start("j", nil)
		w.wants("the other one", w.passes(time.Hour), "b: started j")
		if len(tried) != 2 || tried[0] > 10*time.Second || tried[1] < 10*time.Minute || tried[1] > 11*time.Minute {
			t.Errorf("tried after %v, not at once and after ten minutes", tried)
		}
		slices.Sort(w.ids)
		if w.ids = slices.Compact(w.ids); len(w.ids) != 1 {
			t.Errorf("one event has the IDs %q", w.ids)
		}

		w.answers(func(string) (int, http.Header) { return http.StatusServiceUnavailable, nil })
		w.start("k", nil)
		w.passes(10 * time.Second)
		w.stop()
		w.passes(time.Hour)
		left, err := w.store.DueNotifications(t.Context(), 10)
		if err != nil || len(left) != 2 {
			t.Fatal(left, err)
		}
		for _, m := range left { // a day later
			m.At, m.Tries = m.At.Add(-24*time.Hour), 10
			if err := w.store.ReplaceNotification(t.Context(), m.N, m); err != nil {
				t.Fatal(err)
			}
		}
		w.run()
		w.passes(time.Minute)
		if left, err := w.store.DueNotifications(t.Context(), 10); err != nil || len(left) > 0 {
			t.Error(left, err)
		}
	})
}

// An event that was sent just before a kill is sent again with the same ID.
func TestStoppedWhileSending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Notifications{
			Channels: map[string]config.NotificationChannel{"a": hook("a")}, Routes: []config.NotificationRoute{{Channels: []string{"a"}}},
		})
		failing := failingStore{Store: w.store}
		w.stop()
		w.opts.Store = &failing
		w.run()
		w.start("i", nil)
		w.wants("sent, but not recorded", w.passes(5*time.Second), "a: started i")
		w.stop()
		w.opts.Store = w.store
		w.run()
		w.wants("sent again", w.passes(time.Minute), "a: started i")
		if len(w.ids) != 2 || w.ids[0] != w.ids[1] {
			t.Errorf("IDs: %q", w.ids)
		}
	})
}

// failingStore does not record that a notification was sent.
type failingStore struct{ notify.Store }

func (s *failingStore) ReplaceNotification(ctx context.Context, n int64, others ...record.Notification) error {
	if len(others) == 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.ReplaceNotification(ctx, n, others...)
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		channels := map[string]config.NotificationChannel{}
		for _, name := range []string{"project", "chain", "severity", "both", "none", "everywhere", "default"} {
			channels[name] = hook(name)
		}
		w := newWorld(t, config.Notifications{Channels: channels, Routes: []config.NotificationRoute{
			{Channels: []string{"project"}, Projects: []string{"shop", "search"}},
			{Channels: []string{"everywhere"}, Projects: []string{"*"}},
			{Channels: []string{"chain"}, Chains: []string{"dig"}},
			{Channels: []string{"severity"}, Severities: []string{"critical"}},
			{Channels: []string{"both"}, Severities: []string{"CRITICAL"}, Projects: []string{"shop"}},
			{Channels: []string{"none"}, Severities: []string{"warning"}}, {Channels: []string{"none"}, Chains: []string{"other"}},
			{Channels: []string{"default"}, Projects: []string{agent.DefaultProject}},
			{Channels: []string{"none"}, Events: []string{config.EventWaiting}},
		}})
		w.start("i", nil)
		w.wants("everything matches", w.passes(10*time.Second),
			"both: started i", "chain: started i", "everywhere: started i", "project: started i", "severity: started i")
		w.start("j", func(r *record.Investigation) { r.Project, r.Chain, r.Metadata = "", "else", nil })
		w.wants("little is known", w.passes(10*time.Second), "default: started j", "everywhere: started j")
	})
}

func TestQuietHoursAndEscalation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Notifications{
			Channels: map[string]config.NotificationChannel{"team": hook("team"), "lead": hook("lead"), "boss": hook("boss")},
			Routes: []config.NotificationRoute{{
				Channels: []string{"team"}, QuietHours: "23:00-01:45",
				EscalateTo: []string{"lead", "boss"}, EscalateAfter: value.Duration(15 * time.Minute),
			}},
		})
		r := w.start("i", nil) // at one o'clock in Berlin
		w.waits("i", 1, "c1", "c2")
		w.wants("quiet hours", w.passes(14*time.Minute))
		w.waits("i", 2, "c1") // c2 was decided
		w.wants("the first escalation", w.passes(2*time.Minute), "lead: waiting i c1")
		w.wants("the second one", w.passes(15*time.Minute), "boss: waiting i c1")
		w.wants("until the end", w.passes(13*time.Minute))
		w.wants("afterwards", w.passes(2*time.Minute), "team: started i", "team: waiting i c1")
		w.waits("i", 3)
		w.finish(r)
		w.wants("at once", w.passes(time.Minute), "team: finished i")
		w.start("j", nil)
		w.waits("j", 1, "c3")
		w.wants("a question", w.passes(time.Minute), "team: started j", "team: waiting j c3")
		w.waits("j", 2)
		w.wants("an answered question is not escalated", w.passes(40*time.Minute))
	})
}

// A question of a conversation reaches those who take part in it, and nobody else.
func TestConversationsAreNotAnnounced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Notifications{
			Channels: map[string]config.NotificationChannel{"a": hook("a")}, Routes: []config.NotificationRoute{{Channels: []string{"a"}}},
		})
		err := w.store.SetWaiting(t.Context(), record.Waiting{
			Investigation: "talk", WorkflowID: "talk", RunID: "r", Seq: 1,
			Waits: record.Waits{Approvals: []record.Approval{{CallID: "c", Execution: "talk"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.wants("nothing", w.passes(time.Minute))
		if left, err := w.store.DueNotifications(t.Context(), 10); err != nil || len(left) > 0 {
			t.Error(left, err)
		}
	})
}

// Slack's face keeps the thread.
func TestSlackThread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, config.Notifications{
			Channels: map[string]config.NotificationChannel{"room": {Type: config.NotifySlack, Channel: "C1"}},
			Routes:   []config.NotificationRoute{{Channels: []string{"room"}}},
		})
		r := w.start("i", nil)
		w.finish(r)
		w.passes(time.Minute)
		threads, err := w.store.ChatThreads(t.Context())
		if err != nil || len(threads) != 1 || threads[0].Investigation != "i" || threads[0].Channel != "C1" || threads[0].Thread != "" {
			t.Error(threads, err)
		}
	})
}

// The URL of a channel is a secret, and so are the variables in it.
func TestErrorsHideTheURL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := newWorld(t, config.Notifications{
			Channels: map[string]config.NotificationChannel{"a": hook("a")}, Routes: []config.NotificationRoute{{Channels: []string{"a"}}},
		})
		w.stop()
		w.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		w.run()
		answers := 0
		w.answers(func(string) (int, http.Header) {
			answers++
			return map[int]int{1: 0, 2: http.StatusInternalServerError}[answers], nil
		})
		w.start("i", nil)
		w.passes(2 * time.Second)
		w.stop()
		if text := log.String(); !strings.Contains(text, "connection refused") || strings.Contains(text, "secret-path") {
			t.Errorf("%d answers; log:\n%s", answers, text)
		}
		w.run()
	})
}

package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/webhook"
)

// inbox is a store that receives the alerts of a webhook.
type inbox struct {
	*testing.T
	Store
	limits webhook.Limits
}

// alert returns an alert of a group. began is its start time in seconds; 0 means unknown.
func alert(name, group string, state webhook.State, began int) webhook.Received {
	a := webhook.Received{
		Webhook: "am", Fingerprint: name, Group: group, GroupName: group, Title: "<" + name + "> \x00", State: state, Workflow: "Alert",
		Request: []byte(`{"chain":"c"}`),
	}
	if began > 0 {
		a.StartsAt = time.Date(2026, 11, 1, 0, 0, began, 0, time.UTC)
	}
	return a
}

func (b inbox) receive(all ...webhook.Received) webhook.Counts {
	b.Helper()
	return must(b.ReceiveAlerts(b.Context(), all))(b.T)
}

// place places waiting alerts and records the starts.
func (b inbox) place() webhook.Placed {
	b.Helper()
	p := must(b.PlaceAlerts(b.Context(), func(string) webhook.Limits { return b.limits }))(b.T)
	for _, s := range p.Starts {
		ok(b.T, b.AlertStarted(b.Context(), s.ID, "of "+s.ID))
		of := record.Investigation{ID: "of " + s.ID, WorkflowID: s.Workflow, RunID: "r", StartedAt: time.Now()}
		ok(b.T, b.StartInvestigation(b.Context(), of))
	}
	return p
}

// ends ends the investigation of an alert.
func (b inbox) ends(id string) {
	b.Helper()
	end := time.Now()
	ok(b.T, b.FinishInvestigation(b.Context(), record.Investigation{ID: "of " + id, WorkflowID: id, StartedAt: end, EndedAt: &end}))
}

// places returns the place of each alert, by name.
func (b inbox) places() map[string]string {
	b.Helper()
	out := map[string]string{}
	for _, r := range slices.Backward(must(b.Alerts(b.Context(), store.AlertFilter{}))(b.T)) {
		out[r.Fingerprint] = strings.TrimSpace(out[r.Fingerprint] + " " + r.Place)
	}
	return out
}

// testAlerts: a repeated alert is the same alert, and one that fires again is another.
func testAlerts(t *testing.T, open opener) {
	b := inbox{t, open(), webhook.Limits{Running: 2, PerMinute: 100}}
	same(t, "first", b.receive(alert("a", "g", webhook.Firing, 10), alert("b", "g", webhook.Firing, 10)), webhook.Counts{New: 2})
	same(t, "again", b.receive(alert("a", "g", webhook.Firing, 10), alert("x", "g", webhook.Neither, 10)),
		webhook.Counts{Known: 1, Ignored: 1})
	first := b.place()
	if len(first.Starts) != 2 || !strings.HasPrefix(first.Starts[0].Workflow, "Alert-") || string(first.Starts[0].Request) != `{"chain":"c"}` {
		t.Errorf("started %+v", first)
	}
	same(t, "nothing is to be done", b.place(), webhook.Placed{Silent: map[string]string{}})

	// It fires again while it is investigated, and resolves.
	b.receive(alert("a", "g", webhook.Firing, 20))
	same(t, "resolved", b.receive(alert("a", "g", webhook.Resolved, 20), alert("nobody", "g", webhook.Resolved, 20)),
		webhook.Counts{Resolved: 1, Ignored: 1})
	same(t, "late", b.receive(alert("a", "g", webhook.Firing, 20)), webhook.Counts{Known: 1})
	same(t, "places", b.places(), map[string]string{"a": "started aside", "b": "started"})
	lead := first.Starts[0].ID
	want := []webhook.News{{
		Lead: lead, Webhook: "am", Investigation: "of " + lead, Alerts: []webhook.NewsOf{{Title: "<a> \uFFFD", What: webhook.NewsResolved}},
		Resolved: 1,
	}}
	same(t, "news", b.place().News, want)
	same(t, "news until they are told", b.place().News, want)
	ok(t, b.AlertsTold(t.Context(), lead))
	same(t, "no news", b.place().News, []webhook.News(nil))

	// After the end, the alert needs another investigation only if it fires again.
	b.ends(lead)
	same(t, "known", b.receive(alert("a", "g", webhook.Firing, 10)), webhook.Counts{Known: 1})
	same(t, "nothing to start", len(b.place().Starts), 0)
	b.receive(alert("a", "g", webhook.Firing, 30))
	same(t, "one to start", len(b.place().Starts), 1)
	same(t, "by its investigation", len(must(b.Alerts(t.Context(), store.AlertFilter{Investigation: "of " + lead}))(t)), 1)
	same(t, "of others", len(must(b.Alerts(t.Context(), store.AlertFilter{Projects: []string{"other"}}))(t)), 0)
	same(t, "is led", must(b.AlertsWait(t.Context(), "of "+lead))(t), true)

	testKnownAlerts(b)

	// If the sender gives no start time, the alert fires again after it resolved.
	for n, step := range []struct {
		state webhook.State
		want  webhook.Counts
	}{
		{webhook.Firing, webhook.Counts{New: 1}}, {webhook.Firing, webhook.Counts{Known: 1}}, {webhook.Resolved, webhook.Counts{Resolved: 1}},
		{webhook.Resolved, webhook.Counts{Ignored: 1}}, {webhook.Firing, webhook.Counts{New: 1}},
	} {
		same(t, fmt.Sprint("timeless ", n), b.receive(alert("timeless", "g", step.state, 0)), step.want)
	}
}

// testKnownAlerts: an alert that is stored needs no request, and its notes are those of its first message.
func testKnownAlerts(b inbox) {
	b.Helper()
	first, timeless := alert("k", "g", webhook.Firing, 10), alert("k", "g", webhook.Firing, 0)
	first.Notes = []string{"a\x00", `"b"`}
	old := alert("old", "g", webhook.Firing, 0)
	old.StartsAt = time.Unix(0, 0) // as older versions stored an alert without a start
	b.receive(old)
	old.StartsAt = time.Time{}
	fired := []webhook.Received{first, timeless, alert("k", "g", webhook.Firing, 20), alert("l", "g", webhook.Firing, 0), old}
	same(b.T, "before", must(b.KnownAlerts(b.Context(), fired))(b.T), []bool{false, false, false, false, false})
	b.receive(first, timeless)
	same(b.T, "stored", must(b.KnownAlerts(b.Context(), fired))(b.T), []bool{true, true, false, false, false})
	first.Request, timeless.Request, first.Notes = nil, nil, nil
	same(b.T, "without a request", b.receive(first, timeless), webhook.Counts{Known: 2})
	rows := must(b.Alerts(b.Context(), store.AlertFilter{Limit: 2}))(b.T)
	same(b.T, "notes", [][]string{rows[1].Notes, rows[0].Notes}, [][]string{{"a\x00", `"b"`}, nil})
	again := []webhook.Received{alert("k", "g", webhook.Resolved, 0), timeless}
	same(b.T, "fires anew", must(b.KnownAlerts(b.Context(), again))(b.T), []bool{false, false})
	b.receive(again[0])
	if _, err := b.ReceiveAlerts(b.Context(), again[1:]); !errors.Is(err, store.ErrUnavailable) {
		b.Errorf("an alert without a request that is not known: %v", err)
	}
}

// testAlertInvestigations: fingerprints lead to the investigations of a project's alerts.
func testAlertInvestigations(t *testing.T, open opener) {
	b := inbox{t, open(), webhook.Limits{Running: 1, PerMinute: 100}}
	find := func(project string, since time.Time, fingerprints ...string) string {
		ids, waiting, err := b.AlertInvestigations(t.Context(), project, fingerprints, since)
		ok(t, err)
		return fmt.Sprint(ids, waiting)
	}
	b.receive(alert("a", "g", webhook.Firing, 10), alert("b", "g", webhook.Firing, 10), alert("c", "h", webhook.Firing, 10))
	same(t, "before the start", find("", time.Time{}, "a", "none"), "[] true")
	lead := "of " + b.place().Starts[0].ID
	same(t, "of the alert", find("default", time.Time{}, "a"), "["+lead+"] false")
	same(t, "of the alert that it joined", find("", time.Time{}, "b", "a"), "["+lead+"] false")
	same(t, "of one, not yet of the other", find("", time.Time{}, "b", "c"), "["+lead+"] true")
	same(t, "unknown", find("", time.Time{}, "none"), "[] false")
	same(t, "of nothing", find("", time.Time{}), "[] false")
	same(t, "in another project", find("other", time.Time{}, "a"), "[] false")
	same(t, "too old", find("", time.Now().Add(time.Hour), "a"), "[] false")
	b.receive(alert("a", "g", webhook.Resolved, 0))
	same(t, "resolved", find("", time.Time{}, "a"), "[] false")
	same(t, "still firing", find("", time.Time{}, "a", "b"), "["+lead+"] false")
}

// testAlertFlood: beyond the limits, each group gets a single investigation, and other alerts wait until there is room.
func testAlertFlood(t *testing.T, open opener) {
	b := inbox{t, open(), webhook.Limits{Running: 3, PerMinute: 4}}
	for n := range 40 {
		b.receive(alert(fmt.Sprint("a", n), fmt.Sprint("g", n%5), webhook.Firing, 10))
	}
	p := b.place()
	count := func() map[string]int {
		out := map[string]int{}
		for _, r := range must(b.Alerts(t.Context(), store.AlertFilter{}))(t) {
			out[r.Place]++
		}
		return out
	}
	same(t, "started", len(p.Starts), 3)
	same(t, "places", count(), map[string]int{"started": 3, "joined": 21, "waiting": 16})
	reported := b.place()
	if len(reported.News) != 3 || reported.News[0].Joined != 7 || len(reported.News[0].Alerts) != 7 || reported.Next == 0 {
		t.Errorf("told %+v", reported)
	}
	ok(t, b.AlertsTold(t.Context(), reported.News[0].Lead))
	// An alert that resolves while it waits is set aside. An alert that joined without notification waits again after the
	// investigation has ended.
	b.receive(alert("a3", "g3", webhook.Resolved, 10))
	for _, n := range reported.News {
		b.ends(n.Lead)
	}
	p = b.place() // three have ended, but the fourth within the minute is the last
	same(t, "started", len(p.Starts), 1)
	same(t, "places", count(), map[string]int{"started": 4, "joined": 14, "aside": 1, "waiting": 21})
	if p.Next == 0 || p.Next > time.Minute {
		t.Errorf("it is looked at again after %s", p.Next)
	}
	same(t, "wait", must(b.AlertsWait(t.Context(), ""))(t), true)
}

// testAlertRefires: an alert that has fired several times before there was room gets one investigation.
func testAlertRefires(t *testing.T, open opener) {
	b := inbox{t, open(), webhook.Limits{Running: 1, PerMinute: 100}}
	b.receive(alert("first", "f", webhook.Firing, 10))
	lead := b.place().Starts[0].ID
	b.receive(alert("a", "g", webhook.Firing, 10), alert("a", "h", webhook.Firing, 20), alert("a", "g", webhook.Firing, 30))
	same(t, "none has room", len(b.place().Starts), 0)
	b.ends(lead)
	b.limits.Running = 10
	same(t, "started", len(b.place().Starts), 1)
	same(t, "places", b.places(), map[string]string{"first": "started", "a": "joined joined started"})
	same(t, "told", b.place().News[0].Joined, 2)
}

// testAlertsWait: alerts wait until their investigation has started, and until its agents were notified of those that joined.
func testAlertsWait(t *testing.T, open opener) {
	b := inbox{t, open(), webhook.Limits{Running: 1, PerMinute: 100}}
	wait := func(what string, want bool) {
		t.Helper()
		same(t, what, must(b.AlertsWait(t.Context(), ""))(t), want)
	}
	wait("none", false)
	b.receive(alert("a", "g", webhook.Firing, 10))
	wait("for a place", true)
	must(b.PlaceAlerts(t.Context(), func(string) webhook.Limits { return b.limits }))(t)
	wait("to be started", true)
	lead := b.place().Starts[0].ID
	wait("started", false)
	b.receive(alert("b", "g", webhook.Firing, 10))
	b.place()
	wait("to be told", true)
	ok(t, b.AlertsTold(t.Context(), lead))
	wait("told", false)
}

// testAlertsUnread: alerts that agents were notified of but did not read wait again, unless they have resolved.
func testAlertsUnread(t *testing.T, open opener) {
	b := inbox{t, open(), webhook.Limits{Running: 1, PerMinute: 100}}
	b.receive(alert("a", "g", webhook.Firing, 10))
	lead := b.place().Starts[0].ID
	b.receive(alert("b", "g", webhook.Firing, 10), alert("c", "g", webhook.Firing, 10))
	b.place()
	ok(t, b.AlertsTold(t.Context(), lead))
	b.receive(alert("c", "g", webhook.Resolved, 10))
	for range 2 {
		ok(t, b.AlertsUnread(t.Context(), "of "+lead))
	}
	b.ends(lead)
	same(t, "started", len(b.place().Starts), 1)
	same(t, "places", b.places(), map[string]string{"a": "started", "b": "started", "c": "joined"})
}

// testAlertsAtOnce: two processes place alerts that several receive, and nothing is started twice or lost.
func testAlertsAtOnce(t *testing.T, open opener) {
	handles := []Store{open(), open()}
	var mu sync.Mutex
	started := map[string]bool{}
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			b := inbox{t, handles[n%2], webhook.Limits{Running: 5, PerMinute: 100}}
			for k := range 20 {
				if _, err := b.ReceiveAlerts(t.Context(), []webhook.Received{
					alert(fmt.Sprint(k), fmt.Sprint(k%7), webhook.Firing, 10), alert(fmt.Sprint(19-k), fmt.Sprint((19-k)%7), webhook.Firing, 10),
				}); err != nil {
					t.Error(err)
				}
				p, err := b.PlaceAlerts(t.Context(), func(string) webhook.Limits { return b.limits })
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, s := range p.Starts {
					started[s.ID] = true
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	times, rows := 0, must(handles[0].Alerts(t.Context(), store.AlertFilter{}))(t)
	for _, r := range rows {
		times += r.Times
		if (r.Place == webhook.Started) != started[r.ID] {
			t.Errorf("%+v, started: %t", r, started[r.ID])
		}
	}
	if len(rows) != 20 || times != 160 || len(started) != 5 {
		t.Errorf("%d alerts, received %d times; %d started: %v", len(rows), times, len(started), slices.Collect(maps.Keys(started)))
	}
}

// testAlertsForgotten: an alert is deleted once it is over, and everything that its investigation needs stays until then. A deleted
// alert that fires again is new.
func testAlertsForgotten(t *testing.T, open opener) {
	b := inbox{t, open(), webhook.Limits{Running: 1, PerMinute: 100}}
	b.receive(alert("a", "g", webhook.Firing, 10))
	first := b.place().Starts[0]
	b.receive(alert("b", "g", webhook.Firing, 10), alert("c", "other", webhook.Firing, 10))
	b.place()
	all := time.Now().Add(time.Hour)
	b.forgets(all, 0) // a is investigated, b has joined it without notification, and c waits
	b.news(first.ID)
	b.ends(first.ID)
	same(t, "started", len(b.place().Starts), 1) // c
	ended := time.Now()
	b.receive(alert("b", "g", webhook.Firing, 10)) // b is seen once more, so a stays, too
	b.forgets(ended)
	b.forgets(all, 1, 1)
	same(t, "places", b.places(), map[string]string{"c": "started"})
	same(t, "fires again", b.receive(alert("a", "g", webhook.Firing, 10)).New, 1)
	for _, r := range must(b.Alerts(t.Context(), store.AlertFilter{}))(t) {
		if r.Fingerprint == "c" {
			b.ends(r.ID)
		}
	}
	second := b.place().Starts[0]
	if second.ID != first.ID || second.Workflow == first.Workflow {
		t.Errorf("%+v is started as %+v was", second, first)
	}
	b.receive(alert("quiet", "g", webhook.Firing, 0), alert("quiet", "g", webhook.Resolved, 0))
	b.forgets(all, 2) // also c
	b.receive(alert("quiet", "g", webhook.Firing, 0))
	same(t, "known", b.receive(alert("quiet", "g", webhook.Firing, 0)), webhook.Counts{Known: 1})
}

// forgets deletes old alerts, with the wanted count per call, until none are left.
func (b inbox) forgets(before time.Time, want ...int64) {
	b.Helper()
	for _, n := range append(want, 0) {
		same(b.T, "deleted", must(b.ForgetAlerts(b.Context(), before))(b.T), n)
	}
}

// news delivers an investigation's pending notification.
func (b inbox) news(id string) {
	b.Helper()
	b.place()
	ok(b.T, b.AlertsTold(b.Context(), id))
}

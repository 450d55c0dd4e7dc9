package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/face/events"
	"github.com/inquest-dev/inquest/internal/face/remote"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// stream reads server-sent events.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
	id    string
	leave context.CancelFunc
}

func (w *world) stream(token, path, last string) *stream {
	w.Helper()
	return w.streamOf(secret(token), path, last)
}

// streamOf is stream with any bearer token.
func (w *world) streamOf(bearer, path, last string) *stream {
	w.Helper()
	ctx, leave := context.WithTimeout(w.Context(), 5*time.Minute)
	w.Cleanup(leave)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+bearer)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = response.Body.Close() })
	if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/event-stream" {
		w.Fatalf("%s: %d %s", path, response.StatusCode, got)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<24)
	return &stream{t: w.T, lines: lines, leave: leave}
}

// next returns the next event. ok is false at the end.
func (s *stream) next() (e events.Event, ok bool) {
	for s.lines.Scan() {
		if id, is := strings.CutPrefix(s.lines.Text(), "id: "); is {
			s.id = id
		}
		if data, is := strings.CutPrefix(s.lines.Text(), "data: "); is {
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				s.t.Fatalf("%v in %s", err, data)
			}
			return e, true
		}
	}
	return e, false
}

// until reads events up to one of the given type and returns the texts of the entries before it.
func (s *stream) until(kind string) (texts []string) {
	s.t.Helper()
	for {
		e, ok := s.next()
		if !ok {
			s.t.Fatalf("no event %s after %v", kind, texts)
		}
		if e.Entry != nil {
			texts = append(texts, e.Entry.Text)
		}
		if e.Type == kind {
			return texts
		}
	}
}

func (s *stream) entry(text string) {
	s.t.Helper()
	if texts := s.until(events.Entry); texts[len(texts)-1] != text {
		s.t.Errorf("entries %v, want %s", texts, text)
	}
}

// running makes a running investigation.
func (w *world) running(name, project string) string {
	w.Helper()
	info := w.temporal.start(name, workflows.TypeInvestigation, nil)
	id := workflows.InvestigationID(name, info.GetFirstRunId())
	r := record.Investigation{
		ID: id, WorkflowID: name, RunID: "r", Chain: "shop", Status: agent.StatusRunning, PlanHash: "p", StartedAt: time.Now(),
		Labels: agent.Labels{Project: project},
	}
	if err := w.store.StartInvestigation(w.Context(), r); err != nil {
		w.Fatal(err)
	}
	return id
}

// end ends an investigation.
func (w *world) end(id, name string) {
	w.Helper()
	end := time.Now()
	err := w.store.FinishInvestigation(w.Context(),
		record.Investigation{ID: id, Status: agent.StatusCompleted, Report: "the pool", EndedAt: &end})
	if err != nil {
		w.Fatal(err)
	}
	w.temporal.end(name)
}

func (f *temporal) end(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ended := proto.Clone(f.started[name]).(*workflowpb.WorkflowExecutionInfo) // other goroutines read the original
	ended.Status = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	f.started[name] = ended
}

// GetWorkflow waits for the end of a workflow.
func (f *temporal) GetWorkflow(_ context.Context, id, _ string) sdk.WorkflowRun {
	return ending{temporal: f, id: id}
}

type ending struct {
	sdk.WorkflowRun
	temporal *temporal
	id       string
}

func (e ending) GetID() string { return e.id }

func (e ending) Get(ctx context.Context, out any) error {
	e.temporal.awaiting.Add(1)
	defer e.temporal.awaiting.Add(-1)
	for {
		e.temporal.mu.Lock()
		ended := e.temporal.started[e.id].GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
		e.temporal.mu.Unlock()
		if ended {
			r := record.Investigation{Status: agent.StatusCompleted, EndReason: agent.EndPartial, Report: "the pool", Envelope: blind}
			*out.(*workflows.InvestigationResult) = system.ResultOf(r)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Viewers see the past, then everything that happens, and the end. Returning viewers see everything that they missed.
func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.running("slow", "payments")
	w.say(id, 1, "first")
	const path = "/api/v1/investigations/slow/events"
	one := w.stream("viewer", path, "")
	one.until(events.Started)
	one.entry("first")
	w.say(id, 2, "second")
	one.entry("second")
	last := one.id
	one.leave()
	w.say(id, 3, "third")
	second := w.stream("viewer", path, last)
	second.entry("third")
	both := w.stream("viewer", path, "0")
	both.entry("first")
	w.say(id, 4, "fourth")
	second.entry("fourth")
	w.end(id, "slow")
	if texts := second.until(events.Ended); len(texts) > 0 {
		t.Errorf("told again: %v", texts)
	}
	if texts := strings.Join(both.until(events.Ended), " "); texts != "second third fourth" {
		t.Errorf("told %s", texts)
	}
	if _, more := second.next(); more {
		t.Error("it goes on")
	}
	ended := w.stream("viewer", path, "")
	if texts := strings.Join(ended.until(events.Ended), " "); texts != "first second third fourth" {
		t.Errorf("afterwards: %s", texts)
	}
}

// An investigation that ended before a worker took it has no record. Readers and viewers learn from Temporal that it has ended.
func TestEndedUnrecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := map[string]any{"chain": "shop", "data": "x"}
	id := read[system.Started](w, "operator", "POST", "/api/v1/investigations", in, "Idempotency-Key", "k").ID
	watching := w.stream("viewer", "/api/v1/investigations/"+id+"/events", "")
	watching.until(events.Started)
	name, _ := workflows.WorkflowOf(id)
	w.temporal.end(name)
	watching.until(events.Ended)
	r := remote.New(w.url, secret("viewer"), false)
	h, err := r.Find(t.Context(), id)
	if err != nil || h.Open {
		t.Errorf("found %+v, %v", h, err)
	}
	for _, wait := range []func() (system.Result, error){
		func() (system.Result, error) { return r.Await(t.Context(), h) },
		func() (system.Result, error) {
			return r.Follow(t.Context(), h, 0, func(system.Event) error { return nil })
		},
	} {
		if out, err := wait(); err != nil || out.ID != id || out.Status != agent.StatusCompleted || out.Report != "the pool" {
			t.Errorf("got %+v, %v", out, err)
		}
	}
	run := read[system.AgentRun](w, "viewer", "GET", "/api/v1/runs/"+id, nil)
	if run.Status != agent.StatusCompleted || run.StartedAt != nil || run.EndReason != agent.EndPartial || len(run.Caveats) != 2 {
		t.Errorf("run %+v", run)
	}
	whole := read[system.Whole](w, "viewer", "GET", "/api/v1/investigations/"+id, nil)
	if e := whole.Investigation.Envelope; !slices.Equal(e.Caveats(), blind.Caveats()) || !slices.Equal(whole.Brief.Caveats, blind.Caveats()) {
		t.Errorf("envelope %+v, brief %+v", e, whole.Brief)
	}
}

// Every viewer sees each entry once and in order, however many there are.
func TestManyViewers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.running("slow", "payments")
	const viewers, said = 20, 30
	done := make(chan string, viewers)
	for range viewers {
		s := w.stream("viewer", "/api/v1/investigations/slow/events", "")
		go func() { done <- strings.Join(s.until(events.Ended), " ") }()
	}
	var want []string
	for n := range said {
		w.say(id, n+1, strconv.Itoa(n))
		want = append(want, strconv.Itoa(n))
	}
	w.end(id, "slow")
	for range viewers {
		if got := <-done; got != strings.Join(want, " ") {
			t.Errorf("told %s", got)
		}
	}
}

// A slow reader is dropped and does not delay others.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.running("slow", "payments")
	news, leave, _ := w.api.streams.feeds.join(id, 0)
	defer leave()
	quick := w.stream("viewer", "/api/v1/investigations/slow/events", "")
	for n := range backlog + 50 {
		w.say(id, n+1, strconv.Itoa(n))
		quick.entry(strconv.Itoa(n))
	}
	read := 0
	for range news {
		read++
	}
	if read > backlog {
		t.Errorf("%d updates were kept", read)
	}
}

func TestWatchList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.investigation("old", "payments")
	w.investigation("theirs", "search")
	s := w.stream("viewer", "/api/v1/events", "")
	received := func() record.Investigation {
		for s.lines.Scan() {
			if data, is := strings.CutPrefix(s.lines.Text(), "data: "); is {
				var c changed
				if err := json.Unmarshal([]byte(data), &c); err != nil {
					t.Fatal(err)
				}
				return c.Investigation.Investigation
			}
		}
		t.Fatal("no more is told")
		return record.Investigation{}
	}
	if r := received(); r.WorkflowID != "old" {
		t.Errorf("told of %s", r.WorkflowID)
	}
	id := w.running("new", "payments")
	if r := received(); r.ID != id || r.Status != agent.StatusRunning {
		t.Errorf("told of %s, %s", r.ID, r.Status)
	}
	w.end(id, "new")
	if r := received(); r.ID != id || r.Status != agent.StatusCompleted || r.Report != "" {
		t.Errorf("told of %s, %s", r.ID, r.Status)
	}
}

// A viewer sees all open investigations, however many there are.
func TestWatchLongList(t *testing.T) {
	t.Parallel()
	f := stillFeed(t)
	const open = 3 * backlog
	received := func(rows <-chan []record.Investigation) (n int) {
		for n < open {
			some, ok := <-rows
			if !ok {
				t.Fatalf("let go after %d", n)
			}
			n += len(some)
		}
		return n
	}
	one, leave := f.join()
	defer leave()
	f.broadcast(t.Context(), manyOpen(open))
	other, leaveToo := f.join()
	defer leaveToo()
	if a, b := received(one), received(other); a != open || b != open {
		t.Errorf("told %d and %d", a, b)
	}
}

// When the only viewer is dropped for not reading, polling of the list stops until the next viewer comes.
func TestWatchListRests(t *testing.T) {
	t.Parallel()
	f := stillFeed(t)
	rows, leave := f.join()
	defer leave()
	stopped := false
	f.stop = func() { stopped = true }
	for n := range listBehind + 1 {
		if f.broadcast(t.Context(), manyOpen(n+1)); stopped != (n == listBehind) {
			t.Errorf("stopped after %d looks: %t", n+1, stopped)
		}
	}
	for range rows { // until the viewer is dropped
	}
	if f.last != nil {
		t.Error("what was told last is kept")
	}
}

// stillFeed returns a feed that does not poll the list itself.
func stillFeed(t *testing.T) listFeed {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return newListFeed(ctx, &client.Client{})
}

func manyOpen(n int) map[string]record.Investigation {
	all := map[string]record.Investigation{}
	for n := range n {
		id := strconv.Itoa(n)
		all[id] = record.Investigation{ID: id, Status: agent.StatusRunning}
	}
	return all
}

// A viewer that claims to know more than there is hides nothing from others or from itself.
func TestStreamFromBeyondTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.running("ours", "payments")
	w.say(id, 1, "one")
	ahead := w.stream("viewer", "/api/v1/investigations/"+id+"/events", "999999")
	ahead.until(events.Record)
	other := w.stream("viewer", "/api/v1/investigations/"+id+"/events", "")
	other.entry("one")
	other.until(events.Record)
	w.say(id, 2, "two")
	other.entry("two")
	ahead.entry("two")
}

package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/browsertest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// patience is how long a test waits for the page. It never tells durations apart.
const patience = 3 * time.Minute

// tab is the page in a browser, on an API that a test makes up.
type tab struct {
	t       *testing.T
	ctx     context.Context // of chromedp, which owns the tab; it ends after some patience
	browser context.Context // ends with the test
	address string
}

// newTab serves the page. Paths of the API without a handler are not found. A path may begin with a method other than GET.
func newTab(t *testing.T, handlers map[string]http.HandlerFunc) tab {
	t.Helper()
	page, err := Handler()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.HandleFunc("/api/", http.NotFound)
	for path, handler := range handlers {
		method, path, found := strings.Cut(path, " ")
		if !found {
			method, path = http.MethodGet, method
		}
		mux.HandleFunc(method+" /api/v1/"+path, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections() // the page keeps streams open
		server.Close()
	})
	browser := browsertest.Start(t)
	ctx, cancel := context.WithTimeout(browser, patience)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		if thrown, ok := event.(*runtime.EventExceptionThrown); ok {
			t.Errorf("the page threw: %v", thrown.ExceptionDetails)
		}
	})
	return tab{t, ctx, browser, server.URL}
}

// text returns what the page shows once it contains all of some texts.
func (b tab) text(want ...string) (shown string) {
	b.t.Helper()
	err := chromedp.Run(b.ctx, chromedp.PollFunction("(want) => want.every((text) => document.body.innerText.includes(text))", nil,
		chromedp.WithPollingArgs(want), chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(0)))
	if text := chromedp.Run(b.browser, chromedp.Evaluate("document.body.innerText", &shown)); err != nil || text != nil {
		b.t.Fatalf("want %q: %v, %v; the page shows:\n%s", want, err, text, shown)
	}
	return shown
}

// without waits until the page no longer shows a text.
func (b tab) without(text string) {
	b.t.Helper()
	err := chromedp.Run(b.ctx, chromedp.PollFunction("(text) => !document.body.innerText.includes(text)", nil,
		chromedp.WithPollingArgs(text), chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(0)))
	if err != nil {
		b.t.Fatalf("still there: %s: %v", text, err)
	}
}

// events answers with a stream of events that stays open.
func events(all ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": begins\n\n"+strings.Join(all, ""))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

func event(t *testing.T, kind string, data any) string {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", kind, text)
}

func answer(body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(body) }
}

// TestHomeWhileItLoads checks that the start page claims nothing before the first answers, and asks again if the server is away.
func TestHomeWhileItLoads(t *testing.T) {
	t.Parallel()
	empty := answer(map[string]any{"items": []any{}})
	arrive := make(chan struct{})
	held := func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-arrive:
			empty(w, r)
		case <-r.Context().Done():
		}
	}
	var asked atomic.Int64
	b := newTab(t, map[string]http.HandlerFunc{
		"inbox": held, "events": events(),
		"investigations": func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) == 1 {
				http.Error(w, "{}", http.StatusServiceUnavailable)
				return
			}
			held(w, r)
		},
	})
	if err := chromedp.Run(b.ctx, chromedp.Navigate(b.address)); err != nil {
		t.Fatal(err)
	}
	shown := b.text("live", "Loading …")
	if strings.Count(shown, "Loading …") != 3 || strings.Contains(shown, "No ") || strings.Contains(shown, "Nothing") {
		t.Errorf("while it loads:\n%s", shown)
	}
	close(arrive)
	shown = b.text("Nothing needs your attention.", "No investigations running.", "No finished investigations yet.")
	if strings.Contains(shown, "Loading") {
		t.Errorf("afterwards:\n%s", shown)
	}
}

// TestAFailureIsToldOnce checks that the page of a failed investigation says once what happened and what to do.
func TestAFailureIsToldOnce(t *testing.T) {
	t.Parallel()
	const id, why = "one:0123456789ab", "lab: credentials refused"
	ended := time.Now()
	whole := system.Whole{
		Investigation: record.Investigation{
			ID: id, WorkflowID: "one", Chain: "lab", Status: agent.StatusFailed, EndReason: agent.EndLLMFailed, Error: "stage dig: A: " + why,
			StartedAt: ended, EndedAt: &ended,
		},
		Stages: []record.Stage{{Name: "dig", Status: agent.StatusFailed, Error: "A: " + why, StartedAt: ended, EndedAt: &ended}},
		Executions: []record.Execution{
			{Name: "dig/A", Stage: "dig", Agent: "A", Status: agent.StatusFailed, Error: why, StartedAt: ended, EndedAt: &ended},
		},
		Scores: []record.Score{}, Advice: "Give the workers a valid key. Then run `starter rerun one`.",
	}
	path := "investigations/{id}"
	b := newTab(t, map[string]http.HandlerFunc{
		path: answer(whole), path + "/transcript": answer(map[string]any{"entries": []any{}}),
		path + "/events": events(
			event(t, "record", map[string]any{"investigation": whole.Investigation, "stages": whole.Stages, "executions": whole.Executions}),
			event(t, "ended", map[string]any{"result": map[string]any{"id": id}})),
	})
	if err := chromedp.Run(b.ctx, chromedp.Navigate(b.address+"/#/"+id)); err != nil {
		t.Fatal(err)
	}
	shown := b.text("Give the workers a valid key. Then run starter rerun one.", "failed")
	if strings.Count(shown, why) != 1 {
		t.Errorf("the page shows:\n%s", shown)
	}
}

// TestARowOfTheTranscript opens an investigation at a row, as links in post-mortems do: the row of an agent that would not be shown.
func TestARowOfTheTranscript(t *testing.T) {
	t.Parallel()
	const id = "one:0123456789ab"
	ended := time.Now()
	var executions []record.Execution
	var entries []transcript.Entry
	for n, name := range []string{"dig/A", "tell/B"} {
		stage, agentName, _ := strings.Cut(name, "/")
		executions = append(executions, record.Execution{
			Name: name, Stage: stage, Agent: agentName, Status: agent.StatusCompleted, StartedAt: ended, EndedAt: &ended,
		})
		for seq := int64(10*n + 1); seq <= int64(10*n+10); seq++ {
			entries = append(entries, transcript.Entry{
				Scope: transcript.Scope{Execution: name}, Key: transcript.Key{Iteration: int(seq)}, Seq: seq, Kind: transcript.KindReply, At: ended,
				Body: transcript.Body{Text: fmt.Sprintf("reply %d of %s", seq, agentName)},
			})
		}
	}
	i := record.Investigation{ID: id, WorkflowID: "one", Chain: "lab", Status: agent.StatusCompleted, StartedAt: ended, EndedAt: &ended}
	path := "investigations/{id}"
	whole := make(chan struct{})
	b := newTab(t, map[string]http.HandlerFunc{
		path: func(w http.ResponseWriter, r *http.Request) {
			answer(system.Whole{Investigation: i, Stages: []record.Stage{}, Executions: executions})(w, r) // the API has no null
			close(whole)
		},
		path + "/transcript": func(w http.ResponseWriter, r *http.Request) {
			shown := entries
			if r.URL.Query().Get("after") == "3" {
				<-whole
				shown = entries[3:4]
			}
			answer(map[string]any{"entries": shown})(w, r)
		},
		path + "/events": events(
			event(t, "record", map[string]any{"investigation": i, "executions": executions}),
			event(t, "ended", map[string]any{"result": map[string]any{"id": id}})),
	})
	if err := chromedp.Run(b.ctx, chromedp.Navigate(b.address+"/#/"+id+"/4")); err != nil {
		t.Fatal(err)
	}
	// chromedp.WaitVisible can hold a node that the page has replaced meanwhile, and then waits for ever.
	const found = `() => document.querySelector(".found")?.checkVisibility() && document.querySelector(".found").innerText`
	var shown string
	err := chromedp.Run(b.ctx, chromedp.PollFunction(found, &shown,
		chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(0)))
	if err != nil || !strings.Contains(shown, "reply 4 of A") {
		t.Errorf("shown: %q, %v", shown, err)
	}
}

package page

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// TestReviewFilter lists what needs a review, and still shows what is running, also if that begins later or ends.
func TestReviewFilter(t *testing.T) {
	t.Parallel()
	now := time.Now()
	one := func(name string, status agent.Status, state record.ReviewState) system.Listed {
		r := system.Listed{Investigation: record.Investigation{ID: name, WorkflowID: name, Chain: "lab", Status: status, StartedAt: now}}
		if status.Closed() {
			r.EndedAt, r.Review = &now, &record.Review{State: state}
		}
		return r
	}
	running := one("still-running", agent.StatusRunning, "")
	todo, done := one("to-review", agent.StatusCompleted, record.NeedsReview), one("all-done", agent.StatusCompleted, record.Reviewed)
	later := make(chan string)
	b := newTab(t, map[string]http.HandlerFunc{
		"inbox": answer(map[string]any{"items": []any{}}),
		"events": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for text := ": begins\n\n"; ; {
				_, _ = w.Write([]byte(text))
				w.(http.Flusher).Flush()
				select {
				case text = <-later:
				case <-r.Context().Done():
					return
				}
			}
		},
		"investigations": func(w http.ResponseWriter, r *http.Request) {
			items := []system.Listed{running, todo, done}
			if state := record.ReviewState(r.URL.Query().Get("review")); state != "" {
				items = slices.DeleteFunc(items, func(l system.Listed) bool { return l.Review == nil || l.Review.State != state })
			}
			answer(system.Page[system.Listed]{Items: items})(w, r)
		},
	})
	if err := chromedp.Run(b.ctx, chromedp.Navigate(b.address)); err != nil {
		t.Fatal(err)
	}
	b.text("still-running", "to-review", "all-done")
	err := chromedp.Run(b.ctx, chromedp.Evaluate(`const filter = document.querySelector('[aria-label="Filter by review"]');
		filter.value = "reviewed"; filter.dispatchEvent(new Event("change"))`, nil))
	if err != nil {
		t.Fatal(err)
	}
	b.without("to-review")
	b.text("still-running", "all-done")
	later <- event(t, "investigation", map[string]any{"investigation": one("a-new-one", agent.StatusRunning, "")})
	b.text("a-new-one")
	later <- event(t, "investigation", map[string]any{"investigation": one("a-new-one", agent.StatusFailed, record.NeedsReview)})
	b.without("a-new-one")
	b.text("still-running", "all-done")
}

// TestReviewOnThePage claims and rates an investigation and its claims. The form starts with the person's last rating.
func TestReviewOnThePage(t *testing.T) {
	t.Parallel()
	const id = "one:0123456789ab"
	ended := time.Now()
	whole := system.Whole{
		Investigation: record.Investigation{
			ID: id, WorkflowID: "one", Chain: "lab", Status: agent.StatusCompleted, Report: "It was the pool [1].",
			StartedAt: ended, EndedAt: &ended,
		},
		Stages: []record.Stage{}, Executions: []record.Execution{}, Scores: []record.Score{}, Review: &record.Review{State: record.NeedsReview},
	}
	whole.Ratings = []record.Rating{
		{By: "ada", At: ended, Rating: record.Inaccurate, Note: "it was <b>DNS</b>"},
		{By: "bob", At: ended, Rating: record.Partly, Note: "half of it", Claims: []record.ClaimRating{
			{Claim: 2, Text: "It restarted twice.", Rating: record.Inaccurate},
		}},
	}
	var mu sync.Mutex
	var sent []any
	take := func(then func(body json.RawMessage)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			body, parsed := json.RawMessage{}, any(nil)
			_ = json.NewDecoder(r.Body).Decode(&body)
			_ = json.Unmarshal(body, &parsed)
			if sent = append(sent, parsed); len(sent) == 2 {
				http.Error(w, `{"detail":"the store is away"}`, http.StatusServiceUnavailable)
				return
			}
			then(body)
			_, _ = w.Write([]byte("{}"))
		}
	}
	path := "investigations/{id}"
	b := newTab(t, map[string]http.HandlerFunc{
		path: func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			answer(whole)(w, r)
		},
		"about":              answer(system.AboutBody{Name: "bob"}),
		path + "/transcript": answer(map[string]any{"entries": []any{}}),
		path + "/evidence": answer(evidence.Evidence{Items: []evidence.Item{}, Claims: []evidence.Claim{
			{N: 1, Text: "It was the pool."}, {N: 2, Text: "It restarted twice."}, {N: 3, Text: "Nobody deployed."},
		}}),
		path + "/events": events(event(t, "record", map[string]any{"investigation": whole.Investigation}),
			event(t, "ended", map[string]any{"result": map[string]any{"id": id}})),
		"POST " + path + "/review": take(func(json.RawMessage) {
			whole.Review = &record.Review{State: record.InReview, Assignee: "bob", AssignedAt: &ended}
		}),
		"POST " + path + "/rating": take(func(json.RawMessage) {
			whole.Review.State, whole.Review.Reviewer, whole.Review.ReviewedAt = record.Reviewed, "bob", &ended
		}),
	})
	press := func(label string) chromedp.Action {
		return chromedp.Click(`//button[normalize-space()="`+label+`" and not(ancestor::dialog[not(@open)])]`, chromedp.BySearch)
	}
	run := func(actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(b.ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	run(chromedp.Navigate(b.address + "/#/" + id))
	b.text("Needs review", "inaccurate by ada", "it was <b>DNS</b>", "inaccurate: It restarted twice.")
	run(press("Claim"))
	b.text("In review by bob", "Release")
	run(press("Rate"), chromedp.WaitVisible("dialog[open] textarea"))
	b.text("Claims of the report (3)")
	run(chromedp.Click("dialog input[value=accurate]"), chromedp.SendKeys("dialog textarea:nth-of-type(2)", "rolled back"),
		chromedp.Click("dialog details summary"), chromedp.SetValue("dialog li:nth-child(3) select", "partly"),
		chromedp.Click("dialog button.primary"))
	b.text("the store is away")
	run(chromedp.WaitVisible("dialog[open] textarea"), chromedp.Click("dialog button.primary")) // nothing that was typed is lost
	b.text("Reviewed by bob", "Reopen")
	mu.Lock()
	defer mu.Unlock()
	rating := map[string]any{"rating": "accurate", "note": "half of it", "action_taken": "rolled back", "claims": []any{
		map[string]any{"claim": 2.0, "rating": "inaccurate"}, map[string]any{"claim": 3.0, "rating": "partly"},
	}}
	want := []any{map[string]any{"action": "claim"}, rating, rating}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
}

// TestStatsOnThePage shows statistics by model after a choice.
func TestStatsOnThePage(t *testing.T) {
	t.Parallel()
	b := newTab(t, map[string]http.HandlerFunc{
		"stats": func(w http.ResponseWriter, r *http.Request) {
			name := map[string]string{"chain": "checkout", "model": "<i>gpt"}[r.URL.Query().Get("by")]
			one := record.Stats{
				Name: name, Ended: 7, Completed: 6, Accurate: 3, Partly: 2, Inaccurate: 1, Scored: 1, MedianSeconds: 61, CostUSD: 1.5,
			}
			answer(system.Stats{Items: []record.Stats{one, {Name: "other", Ended: 1}}, Total: record.Stats{Ended: 8}})(w, r)
		},
	})
	if err := chromedp.Run(b.ctx, chromedp.Navigate(b.address+"/#/stats")); err != nil {
		t.Fatal(err)
	}
	b.text("chain\tEnded", "checkout\t7\t3\t2\t1\t0\t0\t0\t$1.50\t1m 1s\t", "other\t1", "Total\t8")
	err := chromedp.Run(b.ctx, chromedp.Evaluate(`const by = document.querySelector('[aria-label="Group by"]'); by.value = "model";
		by.dispatchEvent(new Event("change"))`, nil))
	if err != nil {
		t.Fatal(err)
	}
	b.text("<i>gpt\t7")
}

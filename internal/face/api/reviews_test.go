package api

import (
	"errors"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/face/remote"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// People with the role operator change the state of a review, and lists select by it. What they write is masked.
func TestReview(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.investigation("ended", "payments")
	w.investigation("other", "payments")
	list := func(query string) (names []string) {
		for _, one := range read[system.Page[system.Listed]](w, "viewer", "GET", "/api/v1/investigations?"+query, nil).Items {
			names = append(names, one.WorkflowID+" "+string(one.Review.State)+" "+one.Review.Assignee)
		}
		return names
	}
	const path = "/api/v1/investigations/ended/review"
	act := func(action string) record.Review {
		return read[record.Review](w, "operator", "POST", path, system.ReviewBody{Action: record.ReviewAction(action)})
	}
	if got := list("review=needs_review"); len(got) != 2 {
		t.Errorf("to review: %q", got)
	}
	if r := act("claim"); r.State != record.InReview || r.Assignee != "operator" || r.AssignedAt == nil {
		t.Errorf("claimed: %+v", r)
	}
	for _, query := range []string{"review=in_progress", "assignee=operator"} {
		if got := list(query); len(got) != 1 || got[0] != "ended in_progress operator" {
			t.Errorf("%s: %q", query, got)
		}
	}
	for body, want := range map[string]int{`{"action":"reopen"}`: 409, `{"action":"rate"}`: 422, `{}`: 422} {
		if got := w.call("operator", "POST", path, body); got.status != want {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	if got := w.call("viewer", "POST", path, `{"action":"release"}`); got.status != 403 {
		t.Errorf("a viewer: %d %s", got.status, got.body)
	}
	if got := w.call("operator", "GET", "/api/v1/investigations?review=great", nil); got.status != 422 {
		t.Errorf("an unknown state: %d %s", got.status, got.body)
	}
	r := remote.New(w.url, secret("operator"), true)
	rating := system.RateBody{Rating: record.Accurate, ActionTaken: "set password=hunter2hunter2"}
	rated, err := r.Rate(t.Context(), system.RateIn{ByID: system.ByID{ID: id}, Body: rating}, agent.Identity{})
	if err != nil || strings.Contains(rated.Ratings[0].ActionTaken, "hunter2") || rated.Ratings[0].ActionTaken == "" {
		t.Errorf("rated %+v, %v", rated.Ratings, err)
	}
	rating.Claims = []system.ClaimBody{{Claim: 1, Rating: record.Partly}}
	_, err = r.Rate(t.Context(), system.RateIn{ByID: system.ByID{ID: id}, Body: rating}, agent.Identity{})
	if err == nil || !strings.Contains(err.Error(), "claim 1: the report has 0 claims") {
		t.Errorf("a claim that is not there: %v", err)
	}
	_, err = r.Review(t.Context(), system.ReviewIn{ByID: system.ByID{ID: id}, Body: system.ReviewBody{Action: "claim"}}, agent.Identity{})
	if !errors.Is(err, record.ErrReviewState) || !strings.Contains(err.Error(), "reopen it first") {
		t.Errorf("claim a reviewed one: %v", err)
	}
	l, err := r.List(t.Context(), record.Filter{Review: record.Reviewed})
	whole, failed := r.Outcome(t.Context(), id)
	if err != nil || failed != nil || len(l.All) != 1 || l.Reviews[id].Reviewer != "operator" || whole.Review.State != record.Reviewed {
		t.Errorf("reviewed: %+v, %v, %+v, %v", l, err, whole.Review, failed)
	}
	mcp, err := use[record.Review](t, w.mcp("operator", nil), "review_investigation", map[string]any{"id": id, "action": "reopen"})
	if err != nil || mcp.State != record.NeedsReview {
		t.Errorf("MCP: %+v, %v", mcp, err)
	}
	long := system.RateBody{Rating: "great", Note: strings.Repeat("ä", system.MaxNote+1)}
	direct := client.Over(w.temporal, payload.Keys{}, w.store, workflows.TaskQueue, "")
	_, err = direct.Rate(t.Context(), system.RateIn{ByID: system.ByID{ID: id}, Body: long}, agent.Identity{})
	if err == nil || !strings.Contains(err.Error(), `rating "great"`) || !strings.Contains(err.Error(), "note has more than 2000 characters") {
		t.Errorf("without the limits of HTTP: %v", err)
	}
}

// Statistics count the investigations of the projects that the caller may see.
func TestStats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.investigation("one", "payments")
	w.investigation("two", "payments")
	w.investigation("hidden", "search")
	read[system.Rated](w, "operator", "POST", "/api/v1/investigations/one/rating", system.RateBody{Rating: record.Partly})
	got := read[system.Stats](w, "viewer", "GET", "/api/v1/stats", nil)
	if len(got.Items) != 1 || got.Items[0].Name != "shop" || got.Total.Ended != 2 || got.Total.Partly != 1 || got.Total.NeedReview != 1 {
		t.Errorf("%+v", got)
	}
	for query, want := range map[string]int{"?project=search": 404, "?by=color": 422, "?since=2999-01-01T00:00:00Z&by=plan": 200} {
		if got := w.call("viewer", "GET", "/api/v1/stats"+query, nil); got.status != want {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
	r := remote.New(w.url, secret("viewer"), true)
	if out, err := r.Stats(t.Context(), record.ByModel, record.Filter{Chain: "shop"}); err != nil || out.Items[0].Name != "none" {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := r.Stats(t.Context(), record.ByModel, record.Filter{Projects: []string{"a", "b"}}); err == nil {
		t.Error("several projects")
	}
}

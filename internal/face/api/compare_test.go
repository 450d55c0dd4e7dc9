package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/face/remote"
	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// planned makes an investigation with a plan, and with a model's replies.
func (w *world) planned(name, project string, p any, replies ...string) {
	w.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		w.Fatal(err)
	}
	end := time.Now()
	id := name + ":0123456789ab"
	err = w.store.FinishInvestigation(w.Context(), record.Investigation{
		ID: id, WorkflowID: name, RunID: "r", Chain: "shop", Status: agent.StatusCompleted, PlanHash: w.blob(text), StartedAt: end, EndedAt: &end,
		Labels: agent.Labels{Project: project},
	})
	if err != nil {
		w.Fatal(err)
	}
	for n, text := range replies {
		_, err := w.store.Append(w.Context(), transcript.Step{
			Scope:  transcript.Scope{Investigation: id, Execution: "dig/Memo"},
			Writer: transcript.Writer{RunID: "r", ActivityID: fmt.Sprint(n)},
			Rows: []transcript.Row{{
				Key: transcript.Key{Iteration: n + 1}, Kind: transcript.KindReply,
				Body: transcript.Body{Text: text, Answer: transcript.Answer{Provider: "p"}},
			}},
		})
		if err != nil {
			w.Fatal(err)
		}
	}
}

// TestCompare compares two investigations through the API, and as the command does through its client.
func TestCompare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := plan.Plan{Version: 1, Chain: "shop", Stages: []plan.Stage{{Name: "dig", Agents: []plan.Agent{{Name: "Memo", MaxIterations: 3}}}}}
	w.planned("one", "payments", p, "The pool is full.", "Done.")
	p.Stages[0].Agents[0].MaxIterations = 9
	w.planned("two", "payments", p, "The disk is full.")
	w.planned("newer", "payments", map[string]any{"version": plan.Version + 1})
	w.planned("secret", "search", p, "The key is 1.")
	w.investigation("old", "payments") // its plan is not in the store

	path := "/api/v1/investigations/one/compare/"
	got := read[system.Comparison](w, "viewer", "GET", path+"two", nil)
	changes := []plan.Change{{Path: "stages[dig].agents[Memo].max_iterations", A: 3.0, B: 9.0}}
	if diff := cmp.Diff(changes, got.Plan); diff != "" || got.PlanProblem != "" {
		t.Errorf("plans: %s%s", diff, got.PlanProblem)
	}
	first := eval.Step{A: got.Steps[0].A, B: got.Steps[0].B, RowA: 1, RowB: 1, Difference: "its text differs"}
	second := eval.Step{A: got.Steps[1].A, RowA: 2, RowB: 1, Difference: "the agent ended after 1 of 2 replies"}
	if diff := cmp.Diff([]eval.Step{first, second}, got.Steps); diff != "" || got.Steps[1].A.Text != "Done." {
		t.Errorf("replies: %s", diff)
	}
	if got.A.ID != "one:0123456789ab" || got.B.ID != "two:0123456789ab" || got.A.Chain != "shop" || got.A.Ended == nil {
		t.Errorf("%+v, %+v", got.A, got.B)
	}
	same := read[system.Comparison](w, "viewer", "GET", path+"one", nil)
	if len(same.Plan)+len(eval.First(same.Steps)) > 0 || same.Plan == nil || len(same.Steps) != 2 {
		t.Errorf("with itself: %+v", same)
	}
	for _, other := range []string{"newer", "old"} {
		if got := read[system.Comparison](w, "viewer", "GET", path+other, nil); got.PlanProblem == "" || got.B.Chain != "shop" {
			t.Errorf("%s: %+v", other, got)
		}
	}
	for _, other := range []string{"secret", "nobody"} {
		its := "/api/v1/investigations/" + other
		for _, path := range []string{path + other, its + "/compare/one", its + "/plan"} {
			if got := w.call("viewer", "GET", path, nil); got.status != http.StatusNotFound {
				t.Errorf("%s: %d %s", path, got.status, got.body)
			}
		}
	}
	for other, status := range map[string]int{"newer": http.StatusConflict, "old": http.StatusNotFound} {
		got := w.call("viewer", "GET", "/api/v1/investigations/"+other+"/plan", nil)
		if got.status != status || !strings.Contains(got.body, "plan") {
			t.Errorf("the plan of %s: %d %s", other, got.status, got.body)
		}
	}
	if got := read[plan.Plan](w, "viewer", "GET", "/api/v1/investigations/two/plan", nil); got.Stages[0].Agents[0].MaxIterations != 9 {
		t.Errorf("its plan: %+v", got)
	}
	through, err := report.Compare(t.Context(), remote.New(w.url, secret("viewer"), false), "one", "two")
	if diff := cmp.Diff(got, through, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("through the client: %v%s", err, diff)
	}
}

// TestForkThroughTheAPI starts forks of visible investigations only, in their project, and nothing if the place is wrong.
func TestForkThroughTheAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := plan.Plan{Version: 1, Chain: "shop", Stages: []plan.Stage{{Name: "dig", Agents: []plan.Agent{{Name: "Memo"}}}}}
	w.planned("one", "payments", p, "The pool is full.", "Done.")
	w.planned("secret", "search", p, "The key is 1.")
	post := func(token string, body map[string]any) answer {
		return w.call(token, "POST", "/api/v1/investigations", body, "Idempotency-Key", "k")
	}
	for name, tt := range map[string]struct {
		token  string
		body   map[string]any
		status int
		says   string
	}{
		"a viewer":        {"viewer", map[string]any{"fork": map[string]any{"of": "one"}}, http.StatusForbidden, ""},
		"another project": {"operator", map[string]any{"fork": map[string]any{"of": "secret"}}, http.StatusNotFound, "nothing with this ID"},
		"unknown":         {"operator", map[string]any{"fork": map[string]any{"of": "nobody"}}, http.StatusNotFound, "nothing with this ID"},
		"into another project": {
			"root", map[string]any{"project": "search", "fork": map[string]any{"of": "one"}}, http.StatusUnprocessableEntity,
			"one:0123456789ab belongs to project payments",
		},
		"a wrong place": {
			"operator", map[string]any{"fork": map[string]any{"of": "one", "at": "7"}}, http.StatusUnprocessableEntity, "there is no row 7",
		},
		"a prompt by an operator": {
			"operator", map[string]any{"fork": map[string]any{"of": "one", "prompts": map[string]string{"Memo": "x"}}}, http.StatusForbidden,
			"require the role admin in project payments",
		},
		"a prompt in between": {
			"root", map[string]any{"fork": map[string]any{"of": "one", "at": "Memo/2", "prompts": map[string]string{"Memo": "x"}}},
			http.StatusUnprocessableEntity, "dig/Memo continues after replies to its old prompt",
		},
		"another result": {
			"operator", map[string]any{"fork": map[string]any{"of": "one", "results": map[string]string{"9": "x"}}},
			http.StatusUnprocessableEntity, "Rows with results: none",
		},
		"another chain": {
			"operator", map[string]any{"chain": "shop", "fork": map[string]any{"of": "one"}}, http.StatusUnprocessableEntity,
			`\"chain\" cannot be set`,
		},
	} {
		if got := post(tt.token, tt.body); got.status != tt.status || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if len(w.temporal.started) > 0 {
		t.Errorf("started: %v", w.temporal.started)
	}
	body := map[string]any{"fork": map[string]any{"of": "one", "at": "Memo/2", "guide": "look closer"}}
	first, second := post("operator", body), post("operator", body)
	if first.status != http.StatusCreated || second.status != http.StatusOK || !strings.Contains(first.body, `"project":"payments"`) {
		t.Errorf("%d %s, then %d %s", first.status, first.body, second.status, second.body)
	}
}

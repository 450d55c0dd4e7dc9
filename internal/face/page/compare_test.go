package page

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
)

// TestCompareOnThePage chooses another investigation of the same chain, and shows both side by side.
func TestCompareOnThePage(t *testing.T) {
	t.Parallel()
	const a, b = "one:0123456789ab", "two:0123456789ab"
	started := time.Now()
	ended := started.Add(90 * time.Second)
	turn := func(row int64, text string, calls ...string) *eval.Turn {
		return &eval.Turn{At: eval.At{Agent: "dig/A", Iteration: 1}, Row: row, Text: text, Calls: calls}
	}
	const differs = "it called get_pods {}, not get_logs {}"
	same := eval.Turn{At: eval.At{Agent: "dig/B", Iteration: 1}, Row: 9, Text: "all is well"}
	found := system.Comparison{
		A: system.Compared{ID: a, Status: agent.StatusCompleted, Chain: "lab", Brief: system.Brief{Cause: "the pool <b>is</b> full"},
			Models: []string{"gpt"}, Started: started, Ended: &ended, Calls: map[string]int{"get_logs": 2}},
		B: system.Compared{ID: b, Status: agent.StatusFailed, Error: "no model answered", Chain: "lab", Models: []string{}, Started: started,
			Calls: map[string]int{}},
		Plan: []plan.Change{{Path: "stages[dig].agents[A].max_iterations", A: 3, B: 9}, {Path: "runbook", B: "Look first."}},
		Steps: []eval.Step{
			{A: turn(5, "", "get_logs {}"), B: turn(7, "hm", "get_pods {}"), RowA: 5, RowB: 8, Difference: differs}, {A: &same, B: &same},
		},
	}
	record := record.Investigation{ID: a, WorkflowID: "one", Chain: "lab", Status: agent.StatusCompleted, StartedAt: started, EndedAt: &ended}
	other := record
	other.ID, other.WorkflowID = b, "two"
	tab := newTab(t, map[string]http.HandlerFunc{
		"investigations/{id}": answer(system.Whole{Investigation: record}),
		"investigations": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("chain") != "lab" {
				http.NotFound(w, r)
				return
			}
			answer(system.Page[system.Listed]{Items: []system.Listed{{Investigation: record}, {Investigation: other}}})(w, r)
		},
		"investigations/{id}/compare/{other}": func(w http.ResponseWriter, r *http.Request) {
			if r.PathValue("id") != a || r.PathValue("other") != b {
				http.NotFound(w, r)
				return
			}
			answer(found)(w, r)
		},
	})
	if err := chromedp.Run(tab.ctx, chromedp.Navigate(tab.address+"/#/compare/"+a)); err != nil {
		t.Fatal(err)
	}
	if shown := tab.text("Choose what to compare it with", "two · completed"); strings.Contains(shown, "one · completed") {
		t.Errorf("it can be compared with itself:\n%s", shown)
	}
	if err := chromedp.Run(tab.ctx, chromedp.Evaluate(`document.querySelector("main li a").click()`, nil)); err != nil {
		t.Fatal(err)
	}
	shown := tab.text("the pool <b>is</b> full", "2× get_logs", "stages[dig].agents[A].max_iterations\t", "Look first.",
		"dig/A differs from reply 1: it called get_pods {}, not get_logs {}", "row 5", "row 8", "hm", "no model answered", "dig/B no difference")
	if strings.Contains(shown, "all is well") {
		t.Errorf("replies that are the same are open:\n%s", shown)
	}
}

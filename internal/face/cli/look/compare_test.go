package look

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/system"
)

// A cell breaks no word.
func TestInCell(t *testing.T) {
	t.Parallel()
	got := inCell("see https://runbooks.example/checkout/pool-exhausted first", 20)
	if want := []string{"see", "https://runbooks.ex…", "first"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Only the lines of a text that differ are printed, without a long beginning that they share.
func TestWhatDiffers(t *testing.T) {
	t.Parallel()
	found := system.Comparison{
		Plan: []plan.Change{
			{Path: "runbook", B: "Look.\nAct."},
			{Path: "stages[dig].agents[A].instructions", A: "Be brief.\nRead logs.\nCite.", B: "Be brief.\nRead all logs.\nOf all pods.\nCite."},
			{Path: "stages[dig].agents[A].max_iterations", A: 5.0, B: 9.0},
			{Path: "summary.instructions", A: strings.Repeat("ä", 200) + "<a>", B: strings.Repeat("ä", 200) + "<b>"},
		},
		Steps: []eval.Step{
			{B: &eval.Turn{At: eval.At{Agent: "dig/A", Iteration: 2}}, RowA: 5, RowB: 7, Difference: "it called a {} instead of b {}"},
			{B: &eval.Turn{At: eval.At{Agent: "dig/A", Iteration: 3}}, RowA: 6, RowB: 8, Difference: "its text differs"},
			{A: &eval.Turn{At: eval.At{Agent: "dig/B", Iteration: 1}}, RowA: 9, Difference: "the agent ended after 0 of 1 replies"},
		},
	}
	want := `
Settings that differ (- A, + B):
  runbook
    + Look.
    + Act.
  stages[dig].agents[A].instructions
    - Read logs.
    + Read all logs.
    + Of all pods.
  stages[dig].agents[A].max_iterations
    - 5
    + 9
  summary.instructions
    - …` + strings.Repeat("ä", 37) + `<a>
    + …` + strings.Repeat("ä", 37) + `<b>

First difference of each agent (rows of A and B):
  5, 7 · dig/A, iteration 2: it called a {} instead of b {}
  9, - · dig/B, iteration 1: the agent ended after 0 of 1 replies`
	got := strings.Join(append(planLines(found), differenceLines(found)...), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := planLines(system.Comparison{PlanProblem: "b has no plan"}); got[1] != "The plans could not be compared: b has no plan" {
		t.Errorf("without a plan: %q", got)
	}
}

package eval_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	junit "github.com/joshdk/go-junit"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/eval"
)

func runs(name, provider string, passed ...bool) (out []eval.Run) {
	for n, ok := range passed {
		run := eval.Run{
			Case: name, Provider: provider, N: n + 1, Passed: ok, Coverage: agent.Coverage{Hits: 2, Misses: 1}, CostUSD: 0.5, TookMS: 1500,
		}
		if !ok {
			run.Failures = []string{"the cause does not match \"x\""}
			run.Diverged = &eval.Divergence{At: eval.At{Agent: "look/A", Iteration: 1}, Row: int64(n + 1), What: "its text differs"}
		}
		out = append(out, run)
	}
	return out
}

// TestTotals: the intervals are those of published tables of the Wilson score.
func TestTotals(t *testing.T) {
	t.Parallel()
	all := append(runs("a", "p", true, false, true, true, true, true, true, true, true, false), runs("b", "p", true)...)
	r := eval.NewResults(all, time.Now())
	want := []eval.Total{
		{Case: "a", Provider: "p", Runs: 10, Passed: 8, Rate: 0.8, Low: 0.490, High: 0.943,
			Coverage: agent.Coverage{Hits: 20, Misses: 10}, CostUSD: 5, TookMS: 1500, Diverged: r.Runs[1].Diverged},
		{Case: "b", Provider: "p", Runs: 1, Passed: 1, Rate: 1, Low: 0.207, High: 1,
			Coverage: agent.Coverage{Hits: 2, Misses: 1}, CostUSD: 0.5, TookMS: 1500},
	}
	if diff := cmp.Diff(want, r.Cases, cmpopts.EquateApprox(0, 0.001)); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
	if len(r.Totals) != 1 || r.Totals[0].Passed != 9 || r.Totals[0].Runs != 11 || r.Passes() {
		t.Errorf("totals %+v", r.Totals)
	}
	if got := r.Cases[0].Percent(); got != "80 % (49–94)" {
		t.Errorf("shown as %s", got)
	}
}

// TestRegressions: a rate within the earlier interval is chance.
func TestRegressions(t *testing.T) {
	t.Parallel()
	five := []bool{true, true, true, true, true}
	for _, test := range []struct {
		provider    string
		before, now []bool
		want        int
	}{
		{"p", []bool{true}, []bool{true}, 0},
		{"p", []bool{true}, []bool{false}, 0}, // chance
		{"p", []bool{false}, []bool{true}, 0},
		{"p", []bool{false}, []bool{false}, 0},
		{"p", five, []bool{true, true, true, true, false}, 0},
		{"p", five, []bool{true, true, false, false, false}, 1},
		{eval.Recorded, five, []bool{true, true, true, true, false}, 1},
	} {
		before := eval.NewResults(append(runs("a", test.provider, test.before...), runs("gone", "p", true)...), time.Now())
		before.Cases[0].Passed = 0 // the sums are computed anew
		text, err := json.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		if before, err = eval.ParseResults(text); err != nil {
			t.Fatal(err)
		}
		now := eval.NewResults(append(runs("a", test.provider, test.now...), runs("new", "p", true)...), time.Now())
		if got, err := now.Regressions(before); len(got) != test.want || err != nil {
			t.Errorf("%v after %v: %v, %v", test.now, test.before, got, err)
		}
	}
	before := eval.NewResults(runs("a", "p", true), time.Now())
	broken := append(runs("new", "p", false), eval.Run{Case: "a", Provider: "p", N: 1, Error: "no key"})
	got, err := eval.NewResults(broken, time.Now()).Regressions(before)
	want := []string{
		"new · p: 0 of 1 passed now, no earlier results", "a · p: 0 of 1 (1 not run) passed now, 1 of 1 before",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := eval.NewResults(runs("a", "other", true), time.Now()).Regressions(before); err == nil {
		t.Error("another provider was compared")
	}
	for _, bad := range []string{
		"", "{}", "[]", `{"cases":[{"case":"a","provider":"p"}]}`, `{"version":2,"runs":[{}]}`, `{"interrupted":true,"runs":[{}]}`,
	} {
		if _, err := eval.ParseResults([]byte(bad)); err == nil {
			t.Errorf("%q was read as results", bad)
		}
	}
}

// hostile results contain what models and servers may write.
func hostile() eval.Results {
	all := append(runs("good", "p", true), runs("bad|<b>`x`", "p", false, false)...)
	all[1].Failures = []string{"a\x00b\x1b[31m ]]> & \" | [x](javascript:alert(1)) <img src=x> `code`\n# heading"}
	return eval.NewResults(append(all, eval.Run{Case: "broken", Provider: "q", N: 1, Error: "no key"}), time.Now())
}

// TestJUnit: another program reads the report.
func TestJUnit(t *testing.T) {
	t.Parallel()
	text, err := hostile().JUnit()
	if err != nil {
		t.Fatal(err)
	}
	suites, err := junit.Ingest(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var got []string
	for _, s := range suites {
		got = append(got, fmt.Sprintf("%s: %d tests, %d failed, %d errors", s.Name, s.Totals.Tests, s.Totals.Failed, s.Totals.Error))
		for _, test := range s.Tests {
			got = append(got, fmt.Sprintf("%s %s %s", test.Name, test.Status, test.Duration))
		}
	}
	want := []string{
		"p: 3 tests, 2 failed, 0 errors", "good passed 1.5s", "bad|<b>`x` failed 1.5s", "bad|<b>`x`#2 failed 1.5s",
		"q: 1 tests, 0 failed, 1 errors", "broken error 0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tests (-want +got):\n%s", diff)
	}
	failed := suites[0].Tests[1].Error.Error()
	if !strings.Contains(failed, "]]> & \" |") || !strings.Contains(string(text), "first difference from the tape: row 1") {
		t.Errorf("failure %q in\n%s", failed, text)
	}
}

// TestMarkdown: texts of models and servers are code in the report, and the table keeps its shape.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	source := []byte(hostile().Markdown())
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	kinds := map[string]int{}
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			kinds[n.Kind().String()]++
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	markup := kinds["Heading"] + kinds["RawHTML"] + kinds["HTMLBlock"] + kinds["Link"] + kinds["AutoLink"] + kinds["Image"]
	if kinds[east.KindTableRow.String()] != 5 || kinds[east.KindTableCell.String()] != 42 || markup > 0 {
		t.Errorf("%v in\n%s", kinds, source)
	}
}

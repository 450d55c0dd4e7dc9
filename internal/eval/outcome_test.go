package eval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/eval"
	"github.com/inquest-dev/inquest/internal/kit/toolresult"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	done := eval.Outcome{
		Status: agent.StatusCompleted, Report: "# Cause\nOut of memory.\n# Next\nRaise the limit.", Cause: "Out of memory.",
		Tape: tape(t, recorded()),
	}
	checked := done
	checked.Proof = evidence.Evidence{
		Items: []evidence.Item{{Citation: toolresult.Citation{Content: "limit 128Mi"}, Source: evidence.Source{Tool: "k8s.pods"}}},
		Claims: []evidence.Claim{
			{Cites: []int{7}, Verdict: evidence.Verified}, {Cites: []int{1}, Verdict: evidence.Found},
		},
	}
	refuted := checked
	refuted.Proof.Claims = []evidence.Claim{{Cites: []int{1}, Verdict: evidence.Unverified}}
	fact := eval.Expect{Cites: []eval.Fact{{Tool: "k8s.*", Text: `limit \d+Mi`}}}
	for name, test := range map[string]struct {
		expect  eval.Expect
		outcome eval.Outcome
		want    []string
	}{
		"nothing expected": {eval.Expect{}, done, nil},
		"all met": {eval.Expect{
			Status: "completed", Cause: []string{"out of MEMORY"}, Report: []string{"raise.*limit"}, NotReport: []string{"network"},
			Cites: []eval.Fact{{Tool: "k8s.*", Text: "first|out of"}}, Calls: []string{"k8s.pods"}, Never: []string{"*.delete_*"},
		}, done, nil},
		"not the cause": {eval.Expect{Cause: []string{"raise"}}, done, []string{`the cause does not match "raise": Out of memory.`}},
		"no part about the cause": {eval.Expect{Cause: []string{"memory"}},
			eval.Outcome{Status: agent.StatusCompleted, Report: "It ran out of memory."}, nil},
		"failed": {eval.Expect{}, eval.Outcome{Status: agent.StatusFailed, Error: "no model"},
			[]string{"it ended as failed instead of completed: no model"}},
		"must fail": {eval.Expect{Status: "failed"}, done, []string{"it ended as completed instead of failed"}},
		"report": {eval.Expect{Report: []string{"disk"}, NotReport: []string{"limit"}}, done,
			[]string{`the report does not match "disk"`, `the report matches "limit"`}},
		"tools": {eval.Expect{Calls: []string{"loki.*"}, Never: []string{"k8s.l*"}}, done,
			[]string{"no successful call of loki.*", "look/A requested k8s.logs"}},
		"unknown tool": {eval.Expect{Never: []string{"k8s.delete_*"}}, eval.Outcome{
			Status: agent.StatusCompleted,
			Tape:   eval.Tape{Replies: []eval.Reply{{At: eval.At{Agent: "x\ny"}, Calls: []eval.Call{{Tool: "k8s__delete_pod\n::error::"}}}}},
		}, []string{"x y requested k8s__delete_pod ::error::"}},
		"cited":            {fact, checked, nil},
		"cited in a wrong": {fact, refuted, []string{`the report does not cite "limit \\d+Mi" from k8s.*`}},
		"not in a result":  {fact, done, []string{`the report does not cite "limit \\d+Mi" from k8s.*`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.expect.Failures(test.outcome)); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiverged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(rows []transcript.Entry) []transcript.Entry
		want   string
	}{
		"same": {func(rows []transcript.Entry) []transcript.Entry { return rows }, ""},
		"other words beside calls": {func(rows []transcript.Entry) []transcript.Entry {
			rows[5].Text = "once more"
			return rows
		}, ""},
		"another call": {func(rows []transcript.Entry) []transcript.Entry {
			rows[5].Calls = []transcript.Call{*call("k8s.pods", `{"a":1}`)}
			return rows
		}, `row 6, look/A, iteration 2: it called k8s.pods {"a":1} instead of k8s.pods {"a":1.0,"b":2}`},
		"one call less": {func(rows []transcript.Entry) []transcript.Entry {
			rows[1].Calls = rows[1].Calls[:1]
			return rows
		}, `row 2, look/A, iteration 1: it did not call k8s.logs "not JSON"`},
		"one call more": {func(rows []transcript.Entry) []transcript.Entry {
			rows[8].Calls = []transcript.Call{*call("k8s.pods", `{}`)}
			return rows
		}, `row 8, look/A, iteration 3: it called k8s.pods {} in addition`},
		"another result": {func(rows []transcript.Entry) []transcript.Entry {
			rows[3].Text = "other"
			return rows
		}, `row 4, look/A, iteration 1: the result of k8s.pods {"a":1.0,"b":2} differs`},
		"an error": {func(rows []transcript.Entry) []transcript.Entry {
			rows[7].Status, rows[7].ErrorType = "error", "Timeout"
			return rows
		}, `row 7, look/A, iteration 2: the result of k8s.pods {"a":1.0,"b":2} is error Timeout instead of success`},
		"another report": {func(rows []transcript.Entry) []transcript.Entry {
			rows[8].Text = "other text"
			return rows
		}, "row 8, look/A, iteration 3: its text differs"},
		"ended early": {func(rows []transcript.Entry) []transcript.Entry { return rows[:5] },
			"row 2, look/A, iteration 2: the agent ended after 1 of 3 replies"},
		"another agent": {func(rows []transcript.Entry) []transcript.Entry {
			other := entry(9, transcript.KindReply, transcript.Key{Iteration: 1}, transcript.Body{Text: "hello"})
			other.Execution = "look/B"
			return append(rows, other)
		}, "row 9, look/B, iteration 1: an additional reply, after 0"},
		"nothing": {func([]transcript.Entry) []transcript.Entry { return nil },
			"look/A, iteration 1: the agent ended after 0 of 3 replies"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if d := eval.Diverged(tape(t, recorded()), tape(t, test.change(recorded()))); d != nil {
				got = d.String()
			}
			if got != test.want {
				t.Errorf("diverged at %q, want %q", got, test.want)
			}
		})
	}
}

// TestBadCases: everything that is wrong with all cases is reported at once, with its place.
func TestBadCases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a/case.yaml", "expect:\n  status: running\n  cause: ['(']\n  cites: [{tool: ' ', text: ''}]\n  never: ['']\n")
	write("a/request.json", `{"chain": "x", "dta": 1}`)
	write("a/tape.jsonl", "{}\n")
	write("b/case.yaml", "expect:\n  causes: [x]\n")
	write("b/request.json", `{"chain": "x", "data": {}}`)
	write("no-case/readme.md", "")
	write("c/request.json", `{"chain": "x", "data": {}}`)
	if err := os.MkdirAll(filepath.Join(dir, "c", "tape.jsonl"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("file", "")
	_, err := eval.LoadAll(dir)
	for _, part := range []string{
		`case.yaml:2: expect.status: "running" is not how an investigation ends`,
		"expect.cause[0]: error parsing regexp",
		"expect.cites[0].tool: expected the name of a tool", "expect.cites[0].text: expected a regular expression",
		"expect.never[0]: expected the name of a tool",
		`a/request.json: `, `"dta"`, "a/tape.jsonl: line 1: expected", "causes", "b/tape.jsonl: no such file",
		"c/case.yaml: no such file", "c/tape.jsonl: it is not a regular file",
	} {
		if err == nil || !strings.Contains(filepath.ToSlash(err.Error()), part) {
			t.Errorf("error lacks %q:\n%v", part, err)
		}
	}
	good := eval.Case{Request: agent.Request{Chain: "x", AllowEmpty: true}, Tape: tape(t, recorded())}
	folder := filepath.Join(dir, "made")
	if err := good.Save(folder, eval.Draft("a: b # c", "failed", "it's \"quoted\"\nand long", good.Tape)); err != nil {
		t.Fatal(err)
	}
	read, err := eval.Load(folder)
	complete := read.Description == "a: b # c" && len(read.Expect.Calls) == 2 && len(read.Tape.Results) == 3
	if err != nil || !complete || read.Expect.Status != "failed" {
		t.Errorf("read back: %+v, %v", read, err)
	}
	if err := good.Save(folder, eval.Draft("", "completed", "", eval.Tape{})); !os.IsExist(err) {
		t.Errorf("an existing case was overwritten: %v", err)
	}
	if err := good.Save(filepath.Join(dir, "bad"), []byte("expct: {}")); err == nil {
		t.Error("an invalid case.yaml was written")
	}
}

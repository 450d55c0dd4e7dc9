package storetest

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

func testUnknownCalls(t *testing.T, open opener) {
	s := open()
	call := func(kind transcript.Kind, iteration, n int, errorType, text string) transcript.Row {
		row := transcript.Row{Key: transcript.CallKey(iteration, n), Kind: kind, Body: transcript.Body{
			Call: &transcript.Call{Name: "lab.set", Arguments: "{\n \"n\": 1}", Risk: agent.RiskWrite}, ErrorType: errorType, Text: text,
		}}
		if kind == transcript.KindResult {
			row.Key = transcript.ResultKey(iteration, n)
		}
		return row
	}
	quoted := `the server said {"error_type":"OutcomeUnknown"}`
	first := mustAppend(t, s, step("r1",
		call(transcript.KindCall, 1, 0, "", ""), call(transcript.KindResult, 1, 0, "", "done"), // known
		call(transcript.KindCall, 1, 1, "", ""),                                                                  // interrupted
		call(transcript.KindCall, 1, 2, "", ""), call(transcript.KindResult, 1, 2, tool.ErrorOutcomeUnknown, ""), // unknown
		call(transcript.KindResult, 1, 3, tool.ErrorOutcomeUnknown, ""),                                 // unknown, without an intent
		call(transcript.KindCall, 1, 4, "", ""), call(transcript.KindResult, 1, 4, "ToolError", quoted), // a known error
	))
	other := step("r1", call(transcript.KindCall, 1, 0, "", ""))
	other.Execution = "triage/other"
	mustAppend(t, s, other)
	at := func(seq int64) transcript.Entry { return first[seq-1] }
	want := func(execution string, n int, begun transcript.Entry, seq int64, none bool) transcript.UnknownCall {
		return transcript.UnknownCall{Execution: execution, Iteration: 1, Call: n, Tool: "lab.set", Arguments: `{"n":1}`,
			Risk: agent.RiskWrite, At: begun.At, Seq: seq, NoResult: none}
	}
	got := must(s.UnknownCalls(t.Context(), scope.Investigation))(t)
	if len(got) == 4 {
		got[3].At = first[0].At // written slightly later
	}
	same(t, "unknown calls", got, []transcript.UnknownCall{
		want(scope.Execution, 1, at(3), 3, true), want(scope.Execution, 2, at(4), 5, false),
		want(scope.Execution, 3, at(6), 6, false), want(other.Execution, 0, first[0], 9, true),
	})
	same(t, "of another investigation", len(must(s.UnknownCalls(t.Context(), "none"))(t)), 0)

	// After a reset, calls of the earlier run do not count.
	mustAppend(t, s, step("r2", row("r2", key(1, 0))))
	same(t, "after a reset", len(must(s.UnknownCalls(t.Context(), scope.Investigation))(t)), 1)
}

func testNotices(t *testing.T, open opener) {
	s := open()
	notice := func(run string, iteration int, text string) {
		mustAppend(t, s, step(run, transcript.Row{
			Key: key(iteration, 0), Kind: transcript.KindNotice, Body: transcript.Body{Text: text},
		}, row(text, key(iteration, 1))))
	}
	for n, text := range []string{"one", "two", "three"} {
		notice("r1", n+1, text)
	}
	texts := func(limit int) (out []string) {
		for _, e := range must(s.Notices(t.Context(), scope.Investigation, limit))(t) {
			out = append(out, e.Text)
		}
		return out
	}
	same(t, "all notices", texts(9), []string{"one", "two", "three"})
	same(t, "the newest", texts(2), []string{"two", "three"})
	notice("r2", 2, "another")
	same(t, "after a reset", texts(9), []string{"one", "another"})
	same(t, "of another investigation", len(must(s.Notices(t.Context(), "none", 9))(t)), 0)
}

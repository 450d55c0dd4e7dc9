package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Reply returns the reply that is not superseded, of any run.
func testReply(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	none := func(iteration int) {
		t.Helper()
		if _, err := s.Reply(ctx, scope, iteration); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("reply %d: %v, want ErrNotFound", iteration, err)
		}
	}
	none(1)
	first := mustAppend(t, s, step("r1", row("r1", key(1, 0)), reply("r1", key(1, 1), agent.Usage{})))
	mustAppend(t, s, step("r1", row("r1", transcript.CallKey(1, 0))))
	mustAppend(t, s, step("r1", reply("r1", key(2, 0), agent.Usage{})))
	same(t, "reply", must(s.Reply(ctx, scope, 1))(t), first[1])

	repeated := mustAppend(t, s, step("r2", reply("r2", key(2, 0), agent.Usage{})))
	same(t, "reply of the run before", must(s.Reply(ctx, scope, 1))(t), first[1])
	same(t, "reply after a reset", must(s.Reply(ctx, scope, 2))(t), repeated[0])
	none(3)
}

func testSize(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	before := must(s.Size(ctx))(t)
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i * i >> 3) // so that it does not compress
	}
	must(s.PutBlob(ctx, data))(t)
	if after := must(s.Size(ctx))(t); before <= 0 || after <= before {
		t.Errorf("the size was %d bytes, and is %d with a blob more", before, after)
	}
}

// LookupCall finds the reply and the rows that the run has written of one call. It treats other runs like a Lookup of the intent.
func testLookupCall(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	const n = 1
	intent, result := transcript.CallKey(1, n), transcript.ResultKey(1, n)
	call := func(run string) transcript.Known { return must(s.LookupCall(ctx, scope, 1, n, writer(run)))(t) }
	same(t, "nothing", call("r1"), transcript.Known{})

	asked := mustAppend(t, s, step("r1", row("r1", key(1, 0)), reply("r1", key(1, 1), agent.Usage{})))[1:]
	steps(t, s, "r1", transcript.CallKey(1, n-1), transcript.ResultKey(1, n-1), transcript.ResultKey(1, n+1))
	mustAppend(t, s, step("r1", reply("r1", key(2, 0), agent.Usage{})))
	same(t, "the reply", call("r1"), transcript.Known{Log: asked})
	begun := append(asked, mustAppend(t, s, step("r1", row("r1", intent)))...)
	same(t, "begun", call("r1"), transcript.Known{Log: begun})
	done := mustAppend(t, s, step("r1", row("r1", result)))
	same(t, "done", call("r1"), transcript.Known{Step: done, Log: append(begun, done...)})

	same(t, "after a reset", call("r2"), transcript.Known{Log: asked})
	same(t, "log after a reset", briefs(must(s.Entries(ctx, scope))(t)), []brief{
		{1, key(1, 0), "r1", false}, {2, key(1, 1), "r1", false},
		{3, transcript.CallKey(1, n-1), "r1", false}, {4, transcript.ResultKey(1, n-1), "r1", false},
		{5, transcript.ResultKey(1, n+1), "r1", false},
	})
	if _, err := s.LookupCall(ctx, scope, 1, n, writer("r1")); !errors.Is(err, store.ErrStaleRun) {
		t.Errorf("lookup by the old run: %v", err)
	}
	if _, err := s.LookupCall(ctx, scope, 1, n, transcript.Writer{}); err == nil {
		t.Error("no run is given, and that is no error")
	}
	same(t, "done again", mustAppend(t, s, step("r2", row("r2", result))), call("r2").Step)
}

// LookupReply finds the step of an iteration, or the log, and the catalogues of the execution's servers.
func testLookupReply(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	ok(t, s.SaveCatalogue(ctx, scope, tool.Catalogue{Server: "k8s"}))
	ok(t, s.SaveCatalogue(ctx, scope, tool.Catalogue{Server: "aws"}))
	offered := must(s.Catalogues(ctx, scope))(t)
	known := func(run string, iteration int) transcript.Known {
		return must(s.LookupReply(ctx, scope, iteration, writer(run)))(t)
	}
	same(t, "nothing", known("r1", 1), transcript.Known{Catalogues: offered})
	first := mustAppend(t, s, step("r1", row("r1", key(1, 0)), reply("r1", key(1, 1), agent.Usage{})))
	same(t, "the log", known("r1", 2), transcript.Known{Log: first, Catalogues: offered})
	same(t, "the step", known("r1", 1), transcript.Known{Step: first, Log: first, Catalogues: offered})
	second := mustAppend(t, s, step("r1", reply("r1", key(2, 0), agent.Usage{})))
	same(t, "the second step", known("r1", 2), transcript.Known{Step: second, Log: append(first, second...), Catalogues: offered})

	same(t, "after a reset", known("r2", 2), transcript.Known{Log: first, Catalogues: offered})
	same(t, "after a reset to the beginning", known("r3", 1), transcript.Known{Catalogues: offered})
	if _, err := s.LookupReply(ctx, scope, 3, writer("r2")); !errors.Is(err, store.ErrStaleRun) {
		t.Errorf("lookup by the old run: %v", err)
	}

	other := open() // as if in another process, so the first handle has not seen its writes
	log := mustAppend(t, other, step("r3", reply("r3", key(1, 0), agent.Usage{})))
	same(t, "the other's step", known("r3", 2), transcript.Known{Log: log, Catalogues: offered})
	log = append(log, mustAppend(t, other, step("r3", row("r3", transcript.ResultKey(1, 1))))...)
	early := mustAppend(t, other, step("r3", row("r3", transcript.ResultKey(1, 0)))) // it ended later
	log = slices.Insert(log, 1, early...)
	same(t, "the other's calls", known("r3", 2), transcript.Known{Log: log, Catalogues: offered})
	same(t, "the same for all", must(s.Entries(ctx, scope))(t), log)
	must(other.LookupReply(ctx, scope, 1, writer("r4")))(t)
	repeated := mustAppend(t, other, step("r4", reply("r4", key(1, 0), agent.Usage{})))
	same(t, "the other's reset", must(s.Entries(ctx, scope))(t), repeated)
	same(t, "after it", known("r4", 2), transcript.Known{Log: repeated, Catalogues: offered})
}

// testIntent: a result may be appended together with its call's intent. Whatever is stored before, each is stored once afterwards.
func testIntent(t *testing.T, open opener) {
	s := open()
	begun := time.Now().Add(-time.Hour).Truncate(time.Microsecond)
	with := func(run string, n int) transcript.Step {
		intent := row(run, transcript.CallKey(1, n))
		intent.Kind, intent.At = transcript.KindCall, begun
		out := step(run, row(run, transcript.ResultKey(1, n)))
		out.Intent = &intent
		return out
	}
	steps(t, s, "r1", key(1, 0), transcript.CallKey(1, 1)) // the second call's intent is stored
	steps(t, s, "r1", transcript.CallKey(1, 2), transcript.ResultKey(1, 2))
	for n := range 3 {
		first, second := mustAppend(t, s, with("r1", n)), mustAppend(t, s, with("r1", n))
		if diff := cmp.Diff(first, second); diff != "" || len(first) != 1 || first[0].Key != transcript.ResultKey(1, n) {
			t.Errorf("call %d is %+v (-first +again):\n%s", n, first, diff)
		}
	}
	log := must(s.Entries(t.Context(), scope))(t)
	if len(log) != 7 {
		t.Fatalf("%d entries, want a reply and two of each call: %+v", len(log), log)
	}
	if !log[1].At.Equal(begun) || log[2].Seq != log[1].Seq+1 || !log[2].At.After(begun.Add(time.Minute)) {
		t.Errorf("the first call: %+v", log[1:3])
	}
	found := must(s.LookupCall(t.Context(), scope, 1, 0, writer("r1")))(t)
	if len(found.Step) != 1 || found.Step[0].Key != transcript.ResultKey(1, 0) {
		t.Errorf("looked up: %+v", found)
	}
	mustAppend(t, s, with("r2", 1)) // another run begins with this call
	var runs []string
	for _, e := range must(s.Entries(t.Context(), scope))(t) {
		runs = append(runs, e.Writer.RunID)
	}
	if diff := cmp.Diff([]string{"r1", "r1", "r1", "r2", "r2", "r1", "r1"}, runs); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

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
	late := func(iteration, n int, status, text string) transcript.Row {
		return transcript.Row{Key: transcript.LateKey(iteration, n), Kind: transcript.KindNotice, Body: transcript.Body{
			Text: transcript.LateNotice("lab.set", 31*time.Second, status, text),
		}}
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
	mustAppend(t, s, step("r1",
		late(1, 0, "success", "known before"), late(1, 1, "error", "no such\nhost"), late(1, 2, "success", "row written"),
	))
	at := func(seq int64) transcript.Entry { return first[seq-1] }
	want := func(execution string, n int, begun transcript.Entry, seq int64, none bool) transcript.UnknownCall {
		return transcript.UnknownCall{Execution: execution, Iteration: 1, Call: n, Tool: "lab.set", Arguments: `{"n":1}`,
			Risk: agent.RiskWrite, At: begun.At, Seq: seq, NoResult: none}
	}
	got := must(s.UnknownCalls(t.Context(), scope.Investigation))(t)
	if len(got) == 4 {
		got[3].At = first[0].At // written slightly later
	}
	failed, done := want(scope.Execution, 1, at(3), 3, true), want(scope.Execution, 2, at(4), 5, false)
	failed.Late, done.Late = &transcript.Late{Status: "error", Text: "no such host"}, &transcript.Late{Status: "success", Text: "row written"}
	same(t, "unknown calls", got, []transcript.UnknownCall{
		failed, done,
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

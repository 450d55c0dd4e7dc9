package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/transcript"
)

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
		first, again := mustAppend(t, s, with("r1", n)), mustAppend(t, s, with("r1", n))
		if diff := cmp.Diff(first, again); diff != "" || len(first) != 1 || first[0].Key != transcript.ResultKey(1, n) {
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

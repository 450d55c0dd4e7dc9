package fork_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/fork"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// A tape has the results that tools returned, with the arguments as models wrote them, and nothing that a person or the policy decided.
func TestWhatIsRecorded(t *testing.T) {
	t.Parallel()
	var all journal
	result := func(n int, body transcript.Body) {
		all.add("s/A", transcript.ResultKey(1, n), transcript.KindResult, body)
	}
	read := transcript.Call{Name: "lab.read", Arguments: `{"b":1,"a":2}`}
	edited, own, inward := read, read, read
	edited.Arguments, own.Own, inward.Name = `{}`, true, agent.ToolReadResult
	all.add("s/A", transcript.Key{Iteration: 1}, transcript.KindReply, transcript.Body{Calls: []transcript.Call{read, own, inward}}) // 1
	result(0, transcript.Body{Call: &edited})                                                                                        // 2
	result(1, transcript.Body{Call: &own})
	result(2, transcript.Body{Call: &inward})
	result(3, transcript.Body{Call: &read, ErrorType: tool.ErrorTimeout}) // 5
	result(4, transcript.Body{Call: &read, ErrorType: "Cancelled"})
	result(5, transcript.Body{Call: &read, Result: transcript.Result{Refused: true}})
	result(6, transcript.Body{Call: &read, Result: transcript.Result{Given: "Ada"}})
	result(7, transcript.Body{Call: &read}) // 9, which is replaced
	all.add("s/A", transcript.SummaryKey(1, 0), transcript.KindSummary, transcript.Body{Call: &edited})
	result(8, transcript.Body{Call: &read}) // 11, which is superseded
	result(9, transcript.Body{Call: &read}) // 12, which is too late
	all[10].Superseded = true
	at := fork.Place{Agent: "s/A", Iteration: 1}
	want := []fork.Recorded{
		{Place: at, Tool: "lab.read", Arguments: `{"a":2,"b":1}`, Row: 2, Summary: 10},
		{Place: at, N: 3, Tool: "lab.read", Arguments: `{"a":2,"b":1}`, Row: 5},
	}
	got := fork.Record(all, plan.Fork{Until: 11, Given: []plan.ForkGiven{{Row: 9}}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// An agent gets its own results first, in their order, then those of others, then the last one again.
func TestOrderOfRecordedResults(t *testing.T) {
	t.Parallel()
	recorded := func(agent string, iteration int, row int64, arguments string) fork.Recorded {
		return fork.Recorded{Place: fork.Place{Agent: agent, Iteration: iteration}, Tool: "read", Arguments: arguments, Row: row}
	}
	tape := fork.Tape{Results: []fork.Recorded{
		recorded("s/B", 1, 1, `{"n":1}`), recorded("s/A", 1, 2, `{"n":1}`), recorded("s/A", 3, 3, `{"n":1}`), recorded("s/A", 3, 4, `{"n":2}`),
	}}
	had := map[int64]bool{}
	var got []int64
	for _, iteration := range []int{3, 1, 1, 1} {
		r, ok := tape.Find(transcript.Call{Name: "read", Arguments: `{ "n": 1 }`}, "", fork.Place{Agent: "s/A", Iteration: iteration},
			func(row int64) bool { return had[row] })
		if !ok {
			t.Fatal("nothing was found")
		}
		got, had[r.Row] = append(got, r.Row), true
	}
	if diff := cmp.Diff([]int64{3, 2, 1, 3}, got); diff != "" {
		t.Error(diff)
	}
	if !tape.Knows(transcript.Call{Name: "read", Arguments: `{"n":"2"}`}, `{"n":2}`) {
		t.Error("a call is not known by the arguments with which it is made")
	}
	for _, unknown := range []transcript.Call{{Name: "read", Arguments: "not JSON"}, {Name: "write", Arguments: `{"n":1}`}} {
		if tape.Knows(unknown, `{"n":3}`) {
			t.Errorf("it has a result for %+v", unknown)
		}
	}
}

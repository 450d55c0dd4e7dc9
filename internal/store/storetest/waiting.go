package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// waitsOf returns the waits of a run of the workflow "flow".
func waitsOf(id, run string, status agent.Status, seq int, calls ...string) record.Waiting {
	w := record.Waiting{Investigation: id, WorkflowID: "flow", RunID: run, Seq: seq, Status: status}
	for _, call := range calls {
		a := record.Approval{CallID: call, Execution: "s/A", Arguments: `{"to":"<all>\u0000"}`, Expires: at(seq).UTC()}
		w.Approvals = append(w.Approvals, a)
	}
	return w
}

// kept returns a waiting as the store returns it: for an investigation, with its project.
func kept(w record.Waiting) record.Waiting {
	if w.Status != "" {
		w.Project = agent.DefaultProject
	}
	w.Status = ""
	return w
}

func testWaiting(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	r := investigation("inv", "flow", 1)
	r.Writer = "r1"
	ok(t, s.StartInvestigation(ctx, r))
	waits := func(what, id string, want ...record.Waiting) {
		t.Helper()
		same(t, what, must(s.Waiting(ctx, id))(t), want)
	}
	waits("at the beginning", "")
	first := waitsOf("inv", "r1", agent.StatusWaitingApproval, 2, "c1", "c2")
	first.Questions = []record.Question{{ID: "q1", Kind: "confirmation", Question: "Go?", Data: []byte(`{"n":1}`), Expires: at(3).UTC()}}
	first.Outages = []record.Outage{{Execution: "s/B", Model: "gpt", Tries: 4, Since: at(1).UTC(), Next: at(2).UTC(), Until: at(9).UTC()}}
	ok(t, s.SetWaiting(ctx, first))
	ok(t, s.SetWaiting(ctx, waitsOf("inv", "r1", agent.StatusRunning, 1))) // late
	waits("it waits", "inv", kept(first))
	waits("by its workflow's id", "flow", kept(first))
	waits("another", "other")

	talk := waitsOf("talk", "t1", "", 1, "c1") // no record exists for a conversation
	ok(t, s.SetWaiting(ctx, talk))
	waits("with a conversation", "", kept(first), kept(talk))
	ok(t, s.SetWaiting(ctx, waitsOf("talk", "t1", "", 2)))
	ok(t, s.SetWaiting(ctx, talk)) // late
	waits("without it", "", kept(first))

	ok(t, s.ReopenInvestigation(ctx, "inv", "r2"))
	waits("after a reset", "")
	if err := s.SetWaiting(ctx, waitsOf("inv", "r1", agent.StatusPaused, 9)); !errors.Is(err, store.ErrStaleRun) {
		t.Errorf("by a run that was replaced: %v", err)
	}
	second := waitsOf("inv", "r2", agent.StatusWaitingApproval, 1, "c1")
	ok(t, s.SetWaiting(ctx, second))
	waits("it waits again", "inv", kept(second))
	r.Writer = "r2"
	ok(t, s.FinishInvestigation(ctx, finished(r, agent.StatusCompleted)))
	ok(t, s.SetWaiting(ctx, waitsOf("inv", "r2", agent.StatusWaitingApproval, 5, "c1"))) // late
	waits("at the end", "")
	stray := waitsOf("inv", "r2", "", 6, "c1") // only conversations have no status
	ok(t, s.SetWaiting(ctx, stray))
	waits("a row of ended work", "")

	lost := investigation("lost", "w2", 2)
	ok(t, s.StartInvestigation(ctx, lost))
	ok(t, s.SetWaiting(ctx, waitsOf("lost", "r1", agent.StatusWaitingApproval, 1, "c1")))
	must(s.CloseInvestigation(ctx, finished(must(s.Investigation(ctx, "lost"))(t), agent.StatusTerminated)))(t)
	waits("after its termination", "")

	ok(t, s.SetWaiting(ctx, waitsOf("talk", "t1", "", 3, "c1")))
	chat := step("t1", row("t1", key(1, 0)))
	chat.Scope = transcript.Scope{Investigation: "talk", Execution: "chat/A"}
	mustAppend(t, s, chat)
	waits("a conversation at work", "talk", kept(waitsOf("talk", "t1", "", 3, "c1")))
	chat.Writer = writer("t2")
	chat.Rows = []transcript.Row{row("t2", key(2, 0))}
	mustAppend(t, s, chat)
	waits("a conversation after a reset, which has not said otherwise", "talk", kept(waitsOf("talk", "t1", "", 3, "c1")))
	ok(t, s.SetWaiting(ctx, waitsOf("talk", "t2", "", 1, "c2")))
	waits("what it says then", "talk", kept(waitsOf("talk", "t2", "", 1, "c2")))
}

// Only a write that makes a workflow report its waits again drops the reports from before a reset.
func testWaitingAfterAReset(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	r := investigation("inv", "flow", 1)
	r.Writer = "r1"
	ok(t, s.StartInvestigation(ctx, r))
	said := waitsOf("inv", "r1", agent.StatusWaitingApproval, 1, "c1")
	ok(t, s.SetWaiting(ctx, said))
	ok(t, s.StartInvestigation(ctx, r)) // a late attempt
	letter := step("r2", row("r2", key(1, 0)))
	letter.Scope = transcript.Scope{Investigation: "inv"}
	mustAppend(t, s, letter)
	same(t, "after a write of the new run", must(s.Waiting(ctx, "inv"))(t), []record.Waiting{kept(said)})
	r.Writer = "r2"
	ok(t, s.StartInvestigation(ctx, r))
	same(t, "once the new run has started it", must(s.Waiting(ctx, "inv"))(t), []record.Waiting{})
}

// testRandomWaiting compares the store with a simple model: until the end, the last report of the newest run holds the current
// waits.
func testRandomWaiting(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	var checks atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		id := fmt.Sprintf("inv-%d", checks.Add(1))
		r := investigation(id, "flow", 1)
		r.Writer = "r0"
		ok(t, s.StartInvestigation(ctx, r))
		var want []record.Waiting
		run, seq, ended := 0, 0, false
		rt.Repeat(map[string]func(*rapid.T){
			"say": func(rt *rapid.T) {
				now := rapid.IntRange(1, 9).Draw(rt, "seq")
				calls := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(rt, "calls")
				saying := waitsOf(id, fmt.Sprint("r", run), agent.StatusWaitingApproval, now, calls...)
				ok(t, s.SetWaiting(ctx, saying))
				if now <= seq || ended {
					return
				}
				if seq, want = now, nil; len(calls) > 0 {
					want = []record.Waiting{kept(saying)}
				}
			},
			"say too late": func(rt *rapid.T) {
				if run == 0 {
					return
				}
				err := s.SetWaiting(ctx, waitsOf(id, fmt.Sprint("r", run-1), agent.StatusWaitingApproval, 9, "late"))
				if !errors.Is(err, store.ErrStaleRun) {
					rt.Fatalf("a run that was replaced: %v", err)
				}
			},
			"reset": func(*rapid.T) {
				run++
				ok(t, s.ReopenInvestigation(ctx, id, fmt.Sprint("r", run)))
				seq, want, ended = 0, nil, false
			},
			"end": func(*rapid.T) {
				end := finished(r, agent.StatusCompleted)
				end.Writer = fmt.Sprint("r", run)
				ok(t, s.FinishInvestigation(ctx, end))
				want, ended = nil, true
			},
			"": func(rt *rapid.T) {
				got := must(s.Waiting(ctx, id))(t)
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					rt.Fatalf("what waits (-want +got):\n%s", diff)
				}
			},
		})
	})
}

// Followers receive the current waits, also from another handle.
func testFollowWaiting(t *testing.T, open opener) {
	s, other, ctx := open(), open(), t.Context()
	ok(t, s.StartInvestigation(ctx, investigation("inv", "flow", 1)))
	first := waitsOf("inv", "r1", agent.StatusWaitingApproval, 1, "c1")
	stop := errors.New("enough")
	var seen []int
	err := s.Follow(patient(t), "inv", 0, func(u store.Update) error {
		if u.Waits == nil {
			return nil
		}
		seen = append(seen, u.Waits.Len())
		switch len(seen) {
		case 1:
			return other.SetWaiting(ctx, first)
		case 2:
			same(t, "what is waited for", *u.Waits, first.Waits)
			return other.SetWaiting(ctx, waitsOf("inv", "r1", agent.StatusRunning, 2))
		}
		return stop
	})
	if want := []int{0, 1, 0}; !errors.Is(err, stop) || !cmp.Equal(seen, want) {
		t.Errorf("saw %v, want %v: %v", seen, want, err)
	}
}

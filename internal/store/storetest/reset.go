package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

func testReset(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	steps(t, s, "r1", key(1, 0), key(2, 0), key(3, 0))

	if found := must(s.Lookup(ctx, scope, key(2, 0), writer("r2")))(t); found != nil {
		t.Errorf("lookup after a reset returns %v", briefs(found))
	}
	same(t, "entries, for the prompt", briefs(must(s.Entries(ctx, scope))(t)), []brief{{1, key(1, 0), "r1", false}})
	steps(t, s, "r2", key(2, 0), key(3, 0))
	same(t, "log", briefs(gapless(t, s, scope.Investigation)), []brief{
		{1, key(1, 0), "r1", false}, {2, key(2, 0), "r1", true}, {3, key(3, 0), "r1", true},
		{4, key(2, 0), "r2", false}, {5, key(3, 0), "r2", false},
	})
	same(t, "entries", briefs(must(s.Entries(ctx, scope))(t)), []brief{
		{1, key(1, 0), "r1", false}, {4, key(2, 0), "r2", false}, {5, key(3, 0), "r2", false},
	})
}

// An entry is found by its number and time, even if it was superseded. Entries of other investigations do not count.
func testMissing(t *testing.T, open opener) {
	s := open()
	steps(t, s, "r1", key(1, 0), key(2, 0))
	must(s.Lookup(t.Context(), scope, key(2, 0), writer("r2")))(t)
	var marks []transcript.Mark
	for _, e := range gapless(t, s, scope.Investigation) {
		marks = append(marks, e.Mark())
	}
	one, two := marks[0], marks[1]
	otherTime, later := transcript.Mark{Seq: one.Seq, At: one.At + 1}, transcript.Mark{Seq: 3, At: two.At}
	none := must(s.Missing(t.Context(), scope.Investigation, []transcript.Mark{one, two}))(t)
	same(t, "missing marks of stored rows", none, []transcript.Mark(nil))
	some := must(s.Missing(t.Context(), scope.Investigation, []transcript.Mark{one, otherTime, two, later}))(t)
	same(t, "missing", some, []transcript.Mark{otherTime, later})
	same(t, "missing elsewhere", must(s.Missing(t.Context(), "other", []transcript.Mark{one}))(t), []transcript.Mark{one})
	same(t, "mark of an unstored row", transcript.Entry{}.Mark(), transcript.Mark{})
}

// A write is refused if the store lacks an entry that the writer has seen, and changes nothing. It takes any number of entries, and
// superseded ones count. A step that is stored is returned whatever it requires.
func testRequired(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	start := record.Investigation{ID: scope.Investigation, WorkflowID: "w", RunID: "r1", StartedAt: time.Now()}
	ok(t, s.StartInvestigation(ctx, start))
	for n := range 20 {
		steps(t, s, "r1", key(n+1, 0))
	}
	must(s.Lookup(ctx, scope, key(20, 0), writer("r2")))(t)
	var there []transcript.Mark
	for _, e := range gapless(t, s, scope.Investigation) {
		there = append(there, e.Mark())
	}
	lost := []transcript.Mark{{Seq: 3, At: there[2].At + 1}, {Seq: 21, At: there[19].At}}
	intended := step("r2", row("r2", transcript.ResultKey(20, 0)))
	intent := row("r2", transcript.CallKey(20, 0))
	intended.Intent = &intent
	memories := batch("bot", "r2", 21, 1)
	end := start
	end.Status, end.EndReason, end.EndedAt = agent.StatusCompleted, agent.EndCompleted, &start.StartedAt
	writes := map[string]func(requires []transcript.Mark) error{
		"a step of the newest run": func(requires []transcript.Mark) error {
			next := step("r2", row("r2", key(20, 0)))
			next.Requires = requires
			_, err := s.Append(ctx, next)
			return err
		},
		"a result and its intent": func(requires []transcript.Mark) error {
			intended.Requires = requires
			_, err := s.Append(ctx, intended)
			return err
		},
		"memory calls": func(requires []transcript.Mark) error {
			memories.Requires = requires
			_, err := perform(ctx, s, memories, appendTo("facts", "one"))
			return err
		},
		"a step of another run": func(requires []transcript.Mark) error {
			next := step("r3", row("r3", key(22, 0)))
			next.Requires = requires
			_, err := s.Append(ctx, next)
			return err
		},
		"a stage": func(requires []transcript.Mark) error {
			stage := stageOf(scope.Investigation)
			stage.Requires = requires
			return s.SaveStage(ctx, stage, nil, nil)
		},
		"the end": func(requires []transcript.Mark) error {
			end.Requires = requires
			return s.FinishInvestigation(ctx, end)
		},
	}
	log := []string{"a step of the newest run", "a result and its intent", "memory calls", "a step of another run"}
	records := []string{"a stage", "the end"}
	for _, name := range slices.Concat(log, records) {
		before := briefs(gapless(t, s, scope.Investigation))
		err := writes[name](append(lost, there...))
		behind, refused := errors.AsType[*transcript.BehindError](err)
		if !refused {
			t.Fatalf("%s: %v", name, err)
		}
		same(t, name+": missing", *behind, transcript.BehindError{Investigation: scope.Investigation, Missing: lost})
		same(t, name+": the log", briefs(gapless(t, s, scope.Investigation)), before)
		ok(t, writes[name](there))
		if after := gapless(t, s, scope.Investigation); len(after) == len(before) && slices.Contains(log, name) {
			t.Errorf("%s: nothing was written", name)
		}
		if slices.Contains(log, name) {
			ok(t, writes[name](lost))
		}
	}
	same(t, "status", must(s.Investigation(ctx, scope.Investigation))(t).Status, agent.StatusCompleted)
}

// Missing data that an investigation refers to is reported; superseded data is not missing.
func testCheck(t *testing.T, open opener) {
	s, id := open(), scope.Investigation
	same(t, "of nothing", must(s.Check(t.Context(), id))(t), store.Checked{})
	hash := must(s.PutBlob(t.Context(), []byte("there")))(t)
	start := record.Investigation{ID: id, WorkflowID: "w", RunID: "r1", StartedAt: time.Now(), PlanHash: hash, DataHash: "lost data"}
	ok(t, s.StartInvestigation(t.Context(), start))
	large := row("r1", key(2, 0))
	large.Blob, large.Artifacts, large.Images = "lost text", []string{hash, "lost part"}, []agent.Image{{Ref: "lost image"}}
	mustAppend(t, s, step("r1", row("r1", key(1, 0))))
	mustAppend(t, s, step("r1", large))
	must(s.Lookup(t.Context(), scope, key(2, 0), writer("r2")))(t)
	all := gapless(t, s, id)
	same(t, "check of a store that lost rows", must(s.Check(t.Context(), id))(t), store.Checked{
		Entries: 2, Last: all[1].At, Recorded: true, Blobs: []string{"lost data", "lost image", "lost part", "lost text"},
	})
}

// Calls of one iteration run in any order, and the rows of the later run stay.
func testResetWithinIteration(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	one, two := transcript.CallKey(1, 0), transcript.CallKey(1, 1)
	steps(t, s, "r1", key(1, 0), one, two)

	steps(t, s, "r2", two, one)
	same(t, "entries", briefs(must(s.Entries(ctx, scope))(t)), []brief{
		{1, key(1, 0), "r1", false}, {5, one, "r2", false}, {4, two, "r2", false},
	})
}

// A reset between two calls of one reply keeps the result in the history that was kept. It supersedes only the rows after the
// reply's calls.
func testResetBetweenCalls(t *testing.T, open opener) {
	s := open()
	one, two := transcript.CallKey(1, 0), transcript.CallKey(1, 1)
	steps(t, s, "r1", key(1, 0), two, one, key(2, 0))

	steps(t, s, "r2", one)
	same(t, "entries", briefs(must(s.Entries(t.Context(), scope))(t)), []brief{
		{1, key(1, 0), "r1", false}, {5, one, "r2", false}, {2, two, "r1", false},
	})
}

func testStaleRun(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	steps(t, s, "r1", key(1, 0))
	must(s.Lookup(ctx, scope, key(2, 0), writer("r2")))(t)

	if _, err := s.Lookup(ctx, scope, key(1, 0), writer("r1")); !errors.Is(err, store.ErrStaleRun) {
		t.Errorf("lookup by the old run: %v", err)
	}
	for _, k := range []transcript.Key{key(1, 0), key(2, 0)} {
		if _, err := s.Append(ctx, step("r1", row("r1", k))); !errors.Is(err, store.ErrStaleRun) {
			t.Errorf("append at %v by the old run: %v", k, err)
		}
	}
	same(t, "log", briefs(gapless(t, s, scope.Investigation)), []brief{{1, key(1, 0), "r1", false}})
	steps(t, s, "r2", key(2, 0))
}

func testContinueAsNew(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	steps(t, s, "r1", key(1, 0), key(2, 0))
	steps(t, s, "r2", key(3, 0))
	steps(t, s, "r3", key(4, 0))
	same(t, "entries", briefs(must(s.Entries(ctx, scope))(t)), []brief{
		{1, key(1, 0), "r1", false}, {2, key(2, 0), "r1", false}, {3, key(3, 0), "r2", false}, {4, key(4, 0), "r3", false},
	})
}

// A fork finds shared entries as its own, in every run, and none supersedes them.
func testShare(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	paid := agent.Usage{ModelCalls: 1, InputTokens: 100}
	first := reply("r1", key(1, 1), paid)
	first.Calls = []transcript.Call{{ID: "c1_0", Name: "a.b", Arguments: "{}"}}
	mustAppend(t, s, step("r1", row("r1", key(1, 0)), first))
	result := row("r1", transcript.ResultKey(1, 0))
	result.Kind, result.Call = transcript.KindResult, &first.Calls[0]
	mustAppend(t, s, step("r1", result))
	steps(t, s, "r1", key(2, 0))
	mustAppend(t, s, step("r2", reply("r2", key(2, 0), paid))) // supersedes the one of r1
	steps(t, s, "r2", key(3, 0))
	ok(t, s.SaveCatalogue(ctx, scope, tool.Catalogue{Server: "a"}))

	fork := transcript.Scope{Investigation: "fork/run", Execution: scope.Execution}
	given := transcript.Given{Text: "given", Size: 5, By: "Ada"}
	sharing := transcript.Sharing{
		From: scope.Investigation, Fork: fork.Investigation, Until: 5, Iterations: map[string]int{scope.Execution: 2},
		Given: map[int64]transcript.Given{3: given},
	}
	for _, rows := range []int{3, 5} {
		sharing.Rows = rows
		err := s.Share(ctx, sharing)
		if !errors.Is(err, record.ErrChanged) || len(gapless(t, s, fork.Investigation)) > 0 {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
	sharing.Rows = 4
	for range 2 {
		ok(t, s.Share(ctx, sharing))
	}
	all := gapless(t, s, fork.Investigation)
	var shared []int64
	for _, e := range all {
		if shared = append(shared, e.Shared); e.Usage != nil || e.Superseded || e.Writer != (transcript.Writer{}) {
			t.Errorf("entry %d: %+v", e.Seq, e)
		}
	}
	same(t, "shared", shared, []int64{1, 2, 3, 5})
	same(t, "a result that was given", all[2].Body, transcript.Body{
		Text: "given", Call: &first.Calls[0], Status: "success", Untrusted: []string{"a result that Ada gave"}, Shared: 3,
		Result: transcript.Result{Size: 5, Given: "Ada"},
	})
	same(t, "usage", must(s.Usage(ctx, fork.Investigation))(t), agent.Usage{})
	counted := record.Execution{Investigation: fork.Investigation, Name: fork.Execution, StartedAt: at(1), Usage: agent.Usage{ToolCalls: 1}}
	ok(t, s.SaveStage(ctx, record.Stage{Investigation: fork.Investigation, Name: "triage"}, []record.Execution{counted}, nil))
	same(t, "usage of the execution", must(s.Executions(ctx, fork.Investigation))(t)[0].Usage, agent.Usage{})
	same(t, "catalogues", must(s.Catalogues(ctx, fork))(t), must(s.Catalogues(ctx, scope))(t))

	same(t, "a step", must(s.Lookup(ctx, fork, key(1, 0), writer("f1")))(t), all[:2])
	same(t, "a reply", must(s.LookupReply(ctx, fork, 2, writer("f1")))(t).Step, all[3:])
	same(t, "a call", must(s.LookupCall(ctx, fork, 1, 0, writer("f1")))(t).Step, all[2:3])
	again := step("f1", row("f1", key(2, 0)))
	again.Scope = fork
	same(t, "written again", must(s.Append(ctx, again))(t), all[3:])
	next := must(s.LookupReply(ctx, fork, 3, writer("f1")))(t)
	same(t, "before the first own step", [2][]transcript.Entry{next.Step, next.Log}, [2][]transcript.Entry{nil, all})
	own := step("f1", row("f1", key(3, 0)))
	own.Scope = fork
	mustAppend(t, s, own)

	same(t, "after a reset", must(s.Lookup(ctx, fork, key(1, 0), writer("f2")))(t), all[:2])
	same(t, "the log after a reset", must(s.Entries(ctx, fork))(t), all)
}

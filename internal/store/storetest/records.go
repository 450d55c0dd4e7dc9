package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

func investigation(id, workflow string, minute int) record.Investigation {
	return record.Investigation{
		ID: id, WorkflowID: workflow, RunID: "first", Chain: "k8s", AlertType: "PodCrash",
		PlanHash: "p", DataHash: "d", Status: agent.StatusRunning, StartedAt: at(minute).UTC(),
	}
}

// finished returns the final record of an investigation.
func finished(r record.Investigation, status agent.Status) record.Investigation {
	end := r.StartedAt.Add(time.Minute)
	r.Status, r.EndReason, r.Error, r.Report, r.EndedAt = status, agent.EndToolFailed, "e", "# Report", &end
	r.Usage, r.Envelope.Undelivered = agent.Usage{InputTokens: 5}, []string{"guidance that nobody read"}
	return r
}

func testInvestigationRecords(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	r := investigation("inv/run", "inv", 1)
	zoned := r
	zoned.StartedAt = at(1).Add(99 * time.Nanosecond)

	if _, err := s.Investigation(ctx, r.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a record that is not there: %v", err)
	}
	ok(t, s.StartInvestigation(ctx, zoned))
	same(t, "started", must(s.Investigation(ctx, r.ID))(t), r)

	second := r
	second.Chain, second.PlanHash, second.StartedAt = "other", "other", at(9)
	ok(t, s.StartInvestigation(ctx, second))
	same(t, "started twice", must(s.Investigation(ctx, r.ID))(t), r)

	known := record.Envelope{Version: 1, By: "Ada", Pass: 2, Answers: []record.Note{{Question: "Which <one>?", Answer: "that"}}}
	ok(t, s.SaveStage(ctx, stageOf(r.ID), nil, &known))
	r.Envelope = known
	same(t, "an envelope", must(s.Investigation(ctx, r.ID))(t), r)

	ended := finished(r, agent.StatusFailed)
	ended.Envelope.Pass = 3
	for range 2 {
		late := ended
		late.Chain = "not the end's business"
		ok(t, s.FinishInvestigation(ctx, late))
		same(t, "finished", must(s.Investigation(ctx, r.ID))(t), ended)
	}
	ok(t, s.SaveStage(ctx, stageOf(r.ID), nil, &known))
	same(t, "an envelope that comes too late", must(s.Investigation(ctx, r.ID))(t), ended)
	unknown := finished(investigation("never/started", "never", 2), agent.StatusFailed)
	ok(t, s.FinishInvestigation(ctx, unknown))
	same(t, "finished without a start", must(s.Investigation(ctx, unknown.ID))(t), unknown)
}

// A reset's run takes over the record, and late writes of the earlier run are refused.
func testInvestigationResets(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	first := investigation("inv/run", "inv", 1)
	first.Writer = "r1"
	ok(t, s.StartInvestigation(ctx, first))
	ended := finished(first, agent.StatusCompleted)
	ok(t, s.FinishInvestigation(ctx, ended))
	ok(t, s.StartInvestigation(ctx, first))
	same(t, "started again by the same run", must(s.Investigation(ctx, first.ID))(t), ended)

	second := first
	second.PlanHash, second.DataHash, second.StartedAt, second.Writer = "p2", "d2", at(9), "r2"
	ok(t, s.StartInvestigation(ctx, second))
	want := ended // its old result is shown until it ends again
	want.PlanHash, want.DataHash, want.Writer = "p2", "d2", "r2"
	want.Status, want.EndReason, want.Error, want.EndedAt = agent.StatusRunning, "", "", nil
	same(t, "reset to before its plan", must(s.Investigation(ctx, first.ID))(t), want)

	ended = finished(second, agent.StatusCompleted)
	ok(t, s.FinishInvestigation(ctx, ended))
	ok(t, s.ReopenInvestigation(ctx, first.ID, "r2"))
	ended.StartedAt = first.StartedAt
	same(t, "reopened late by the run that ended it", must(s.Investigation(ctx, first.ID))(t), ended)
	ok(t, s.ReopenInvestigation(ctx, first.ID, "r3"))
	want.Writer = "r3"
	same(t, "reset to after its plan", must(s.Investigation(ctx, first.ID))(t), want)

	for name, late := range map[string]error{
		"start":  s.StartInvestigation(ctx, second),
		"finish": s.FinishInvestigation(ctx, ended),
		"reopen": s.ReopenInvestigation(ctx, first.ID, "r1"),
	} {
		if !errors.Is(late, store.ErrStaleRun) {
			t.Errorf("%s by a run that was replaced: %v", name, late)
		}
	}
	same(t, "after what came late", must(s.Investigation(ctx, first.ID))(t), want)
}

// An investigation that ended without recording it is closed with all its parts, unless it has written its record meanwhile.
func testCloseInvestigation(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	lost, done, reset := investigation("lost", "w1", 1), investigation("done", "w2", 2), investigation("reset", "w3", 3)
	for _, r := range []*record.Investigation{&lost, &done, &reset} {
		r.Writer = "r1"
		ok(t, s.StartInvestigation(ctx, *r))
	}
	ok(t, s.FinishInvestigation(ctx, finished(investigation("ended", "w4", 4), agent.StatusFailed)))
	same(t, "running", must(s.Running(ctx))(t), []record.Investigation{lost, done, reset})

	stage, execution := stageOf("lost"), executionOf("lost")
	ok(t, s.SaveStage(ctx, stage, []record.Execution{execution}, nil))
	ok(t, s.SetLive(ctx, transcript.Live{Scope: transcript.Scope{Investigation: "lost", Execution: execution.Name}, Iteration: 1,
		Attempt: 1, Text: "half"}))
	completed := finished(done, agent.StatusCompleted)
	ok(t, s.FinishInvestigation(ctx, completed))
	ok(t, s.ReopenInvestigation(ctx, "reset", "r2"))

	end := at(8).UTC()
	closing := func(r record.Investigation) record.Investigation {
		r.Status, r.EndReason, r.Error, r.EndedAt = agent.StatusTerminated, agent.EndTerminated, "terminated by Ada", &end
		return r
	}
	for _, r := range []record.Investigation{lost, done, reset} {
		if closed := must(s.CloseInvestigation(ctx, closing(r)))(t); closed != (r.ID == "lost") {
			t.Errorf("%s was closed: %t", r.ID, closed)
		}
	}
	same(t, "lost", must(s.Investigation(ctx, "lost"))(t), closing(lost))
	same(t, "done", must(s.Investigation(ctx, "done"))(t), completed)
	reset.Writer = "r2"
	same(t, "reset", must(s.Investigation(ctx, "reset"))(t), reset)
	stage.Status, stage.EndedAt, execution.Status, execution.EndedAt = agent.StatusTerminated, &end, agent.StatusTerminated, &end
	same(t, "its stage", must(s.Stages(ctx, "lost"))(t), []record.Stage{stage})
	same(t, "its execution", must(s.Executions(ctx, "lost"))(t), []record.Execution{execution})
	same(t, "live", liveNow(t, s, "lost"), []transcript.Live(nil))
}

// While an investigation waits, its status says so until it ends, and the newest run sets it.
func testSetStatus(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	r := investigation("inv/run", "inv", 1)
	r.Writer = "r1"
	ok(t, s.StartInvestigation(ctx, r))
	ok(t, s.SetWaiting(ctx, waitsOf(r.ID, "r1", agent.StatusWaitingApproval, 2)))
	r.Status = agent.StatusWaitingApproval
	ok(t, s.SetWaiting(ctx, waitsOf(r.ID, "r1", agent.StatusRunning, 1))) // late
	same(t, "it waits", must(s.Investigation(ctx, r.ID))(t), r)
	same(t, "it is listed", must(s.Investigations(ctx, store.Filter{Status: agent.StatusWaitingApproval}))(t), []record.Investigation{r})
	same(t, "it is not running", must(s.Investigations(ctx, store.Filter{Status: agent.StatusRunning}))(t), []record.Investigation(nil))
	same(t, "it has not ended", must(s.Running(ctx))(t), []record.Investigation{r})

	ok(t, s.SetWaiting(ctx, waitsOf(r.ID, "r2", agent.StatusPaused, 3)))
	if err := s.SetWaiting(ctx, waitsOf(r.ID, "r1", agent.StatusRunning, 4)); !errors.Is(err, store.ErrStaleRun) {
		t.Errorf("by a run that was replaced: %v", err)
	}
	r.Status = agent.StatusPaused
	same(t, "by a run that goes on", must(s.Investigation(ctx, r.ID))(t), r)

	ok(t, s.ReopenInvestigation(ctx, r.ID, "r3")) // its history ends before the second
	ok(t, s.SetWaiting(ctx, waitsOf(r.ID, "r3", agent.StatusAsleep, 2)))
	r.Status, r.Writer = agent.StatusAsleep, "r3"
	same(t, "by a reset's run", must(s.Investigation(ctx, r.ID))(t), r)

	terminated := finished(r, agent.StatusTerminated)
	if closed := must(s.CloseInvestigation(ctx, terminated))(t); !closed {
		t.Error("a waiting investigation cannot be closed")
	}
	ok(t, s.SetWaiting(ctx, waitsOf(r.ID, "r3", agent.StatusPaused, 5)))
	same(t, "after the end", must(s.Investigation(ctx, r.ID))(t).Status, agent.StatusTerminated)
}

// A notice to people stays after a reset, because it may be in the history that the next run continues from. A run that writes
// another notice in its place supersedes it.
func testNoticesOfRuns(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	r := investigation("inv/run", "inv", 1)
	r.Writer = "r1"
	ok(t, s.StartInvestigation(ctx, r))
	own := transcript.Scope{Investigation: r.ID}
	notice := func(run string, n int) {
		notice := step(run, row(run, key(n, 0)))
		notice.Scope = own
		must(s.Append(ctx, notice))(t)
	}
	notice("r1", 1)
	notice("r1", 2)
	kept := []brief{{1, key(1, 0), "r1", false}, {2, key(2, 0), "r1", false}}
	finish := finished(r, agent.StatusCompleted)
	finish.Writer = "r4"
	for name, write := range map[string]func() error{
		"r2 records its pending items": func() error { return s.SetWaiting(ctx, waitsOf(r.ID, "r2", agent.StatusPaused, 1)) },
		"r3 reopens the record":        func() error { return s.ReopenInvestigation(ctx, r.ID, "r3") },
		"r4 ends":                      func() error { return s.FinishInvestigation(ctx, finish) },
	} {
		ok(t, write())
		same(t, name, briefs(must(s.Entries(ctx, own))(t)), kept)
	}
	notice("r5", 3)
	notice("r6", 2)
	same(t, "a reset's run tells another second one", briefs(must(s.Entries(ctx, own))(t)), []brief{kept[0], {4, key(2, 0), "r6", false}})
}

func testFindAndList(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	old, recent, other, named := fourInvestigations(t, s)
	same(t, "by workflow", must(s.FindInvestigation(ctx, "w"))(t), recent)
	same(t, "by id", must(s.FindInvestigation(ctx, "w/1"))(t), old)
	if _, err := s.FindInvestigation(ctx, "y"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("find a missing investigation: %v", err)
	}
	tests := map[string]struct {
		filter store.Filter
		want   []record.Investigation
	}{
		"all":             {store.Filter{}, []record.Investigation{named, recent, other, old}},
		"two":             {store.Filter{Limit: 2}, []record.Investigation{named, recent}},
		"completed":       {store.Filter{Status: agent.StatusCompleted}, []record.Investigation{old}},
		"chain":           {store.Filter{Chain: "db", Limit: 5}, []record.Investigation{other}},
		"both":            {store.Filter{Chain: "db", Status: agent.StatusCompleted}, nil},
		"alert":           {store.Filter{AlertType: "slow"}, []record.Investigation{other}},
		"since":           {store.Filter{Since: recent.StartedAt}, []record.Investigation{named, recent}},
		"needs me":        {store.Filter{NeedsMe: true}, nil},
		"tenant":          {store.Filter{Tenant: "acme"}, []record.Investigation{other}},
		"session":         {store.Filter{Session: "s-1", Since: old.StartedAt, Limit: 1}, []record.Investigation{other}},
		"no tenant":       {store.Filter{Tenant: "Acme"}, nil},
		"metadata":        {store.Filter{Metadata: map[string]string{"team": "db", "<a>": "\"b\""}}, []record.Investigation{other}},
		"half of a value": {store.Filter{Metadata: map[string]string{"team": "d"}}, nil},
		"another case":    {store.Filter{Metadata: map[string]string{"Team": "db"}}, nil},
		"part of a value": {store.Filter{Metadata: map[string]string{"team\"": "db"}}, nil},
		"project":         {store.Filter{Projects: []string{"payments"}}, []record.Investigation{other}},
		"the default one": {store.Filter{Projects: []string{"default"}, Limit: 2}, []record.Investigation{named, recent}},
		"both projects":   {store.Filter{Projects: []string{"payments", "default"}}, []record.Investigation{named, recent, other, old}},
		"running in one":  {store.Filter{Projects: []string{"payments"}, Status: agent.StatusRunning}, []record.Investigation{other}},
		"no project":      {store.Filter{Projects: []string{}}, nil},
		"after one":       {store.Filter{Before: store.Place{StartedAt: recent.StartedAt, ID: recent.ID}}, []record.Investigation{other, old}},
		"after one's twin": {store.Filter{Before: store.Place{StartedAt: recent.StartedAt, ID: "zzz"}},
			[]record.Investigation{recent, other, old}},
		"text":             {store.Filter{Search: "x-fl"}, []record.Investigation{other}},
		"text in chain":    {store.Filter{Search: "db", Projects: []string{"payments"}}, []record.Investigation{other}},
		"other text":       {store.Filter{Search: "%"}, nil},
		"no trials":        {store.Filter{NoTrials: true}, []record.Investigation{named, recent, other}},
		"one of them only": {store.Filter{Metadata: map[string]string{"team": "db", "a": "b"}}, nil},
	}
	for name, test := range tests {
		same(t, name, must(s.Investigations(ctx, test.filter))(t), test.want)
		for _, r := range []record.Investigation{named, recent, other, old} {
			listed := slices.ContainsFunc(test.want, func(one record.Investigation) bool { return one.ID == r.ID })
			if test.filter.Limit == 0 && test.filter.Selects(r) != listed {
				t.Errorf("%s: the filter selects %s: %t", name, r.ID, !listed)
			}
		}
	}
	same(t, "to review", len(must(s.Investigations(ctx, store.Filter{Review: record.NeedsReview}))(t)), 0)
	same(t, "review of a trial", record.ReviewOf(old, nil).State, record.Reviewed)
	ok(t, s.SetWaiting(ctx, record.Waiting{
		Investigation: other.ID, WorkflowID: other.WorkflowID, RunID: other.RunID, Seq: 1, Status: agent.StatusPaused,
	}))
	other.Status = agent.StatusPaused
	same(t, "now it does", must(s.Investigations(ctx, store.Filter{NeedsMe: true}))(t), []record.Investigation{other})
}

// testMatching finds workflows by the beginning of their IDs.
func testMatching(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	for n, ids := range [][2]string{{"w/1", "w"}, {"w/2", "w"}, {"x", "x-flow"}, {"id-like-x", "w/1"}} {
		ok(t, s.StartInvestigation(ctx, investigation(ids[0], ids[1], n)))
	}
	for begin, want := range map[string][]string{"x": {"x-flow"}, "w/": {"w/1", "w/2"}, "id": {"w/1"}, "w": {"w"}, "W": nil, "%": nil} {
		same(t, "begins with "+begin, must(s.Matching(ctx, begin, 5))(t), want)
	}
	same(t, "no more than asked for", must(s.Matching(ctx, "w/", 1))(t), []string{"w/1"})
}

// fourInvestigations stores two investigations of one workflow (the older one completed), one with all fields set, and one whose
// workflow ID equals an investigation's ID.
func fourInvestigations(t *testing.T, s Store) (old, recent, other, named record.Investigation) {
	t.Helper()
	ctx := t.Context()
	old, recent = investigation("w/1", "w", 1), investigation("w/2", "w", 3)
	other = investigation("x", "x-flow", 2)
	other.Chain, other.AlertType = "db", "slow"
	other.Labels = agent.Labels{
		Project: "payments", Tenant: "acme", Session: "s-1", Priority: 2, Fingerprint: "disk",
		Metadata: map[string]string{"team": "db", "<a>": "\"b\"", "x": `x"team`},
	}
	other.Overrides.Budgets.MaxPasses = 2
	old.Envelope.Trial = true
	named = investigation("id-like-x", "w/1", 9)
	for _, r := range []record.Investigation{recent, old, other, named} {
		ok(t, s.StartInvestigation(ctx, r))
	}
	old = finished(old, agent.StatusCompleted)
	ok(t, s.FinishInvestigation(ctx, old))
	return old, recent, other, named
}

package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// follow delivers the updates of an investigation until the test ends.
func follow(t *testing.T, s Store, after int64) <-chan store.Update {
	updates, done := make(chan store.Update), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		done <- s.Follow(ctx, scope.Investigation, after, func(u store.Update) error {
			select {
			case updates <- u:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("follow ended with %v", err)
		}
	})
	return updates
}

func next(t *testing.T, updates <-chan store.Update) store.Update {
	t.Helper()
	select {
	case u := <-updates:
		return u
	case <-patient(t).Done():
		t.Fatal("no update")
		return store.Update{}
	}
}

func testFollow(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	updates := follow(t, s, 0)
	nothing := &record.Waits{}
	same(t, "first update", next(t, updates), store.Update{Waits: nothing})

	entries := mustAppend(t, s, step("r1", row("r1", key(1, 0)), row("r1", key(1, 1))))
	same(t, "append", next(t, updates), store.Update{Entries: entries})

	ok(t, s.SetLive(ctx, live(1, 1, "a")))
	same(t, "live", next(t, updates), store.Update{Live: []transcript.Live{live(1, 1, "a")}})

	entries = mustAppend(t, s, step("r1", reply("r1", key(1, 2), agent.Usage{})))
	u := next(t, updates)
	same(t, "reply", u, store.Update{Entries: entries, Waits: nothing})
	if u.Live == nil {
		t.Error("the reply does not end the live text")
	}

	steps(t, s, "r2", key(1, 1))
	same(t, "reset", briefs(next(t, updates).Entries), []brief{
		{2, key(1, 1), "r1", true}, {3, key(1, 2), "r1", true}, {4, key(1, 1), "r2", false},
	})

	r := investigation("inv/run", "inv", 1)
	ok(t, s.StartInvestigation(ctx, r))
	same(t, "record", next(t, updates), store.Update{Record: &r, Waits: nothing})
	stage, execution := stageOf(r.ID), executionOf(r.ID)
	ok(t, s.SaveStage(ctx, stage, []record.Execution{execution}, nil))
	execution.Iterations = 1
	same(t, "stage", next(t, updates),
		store.Update{Record: &r, Stages: []record.Stage{stage}, Executions: []record.Execution{execution}, Waits: nothing})
}

// testFollowUsage checks that a reply's usage is in the same update as the reply, not in a later one.
func testFollowUsage(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	r, e := investigation("inv/run", "inv", 1), executionOf("inv/run")
	e.Status, e.EndedAt = agent.StatusRunning, nil
	ok(t, s.StartInvestigation(ctx, r))
	ok(t, s.StartExecution(ctx, e, "r1"))
	updates := follow(t, s, 0)
	next(t, updates)
	for n := 1; n <= 2; n++ {
		mustAppend(t, s, step("r1", reply("r1", key(n, 0), agent.Usage{InputTokens: 7, OutputTokens: 3, ModelCalls: 1})))
		u := next(t, updates)
		if len(u.Entries) != 1 || u.Record == nil || u.Record.Usage.Tokens() != 10*n || len(u.Executions) != 1 ||
			u.Executions[0].Usage.Tokens() != 10*n || u.Executions[0].Iterations != n {
			t.Errorf("after reply %d: %+v", n, u)
		}
	}
}

func testFollowFromCursor(t *testing.T, open opener) {
	s := open()
	steps(t, s, "r1", key(1, 0), key(2, 0), key(3, 0))
	steps(t, s, "r2", key(2, 0))

	tests := map[string]struct {
		after int64
		want  []int64
	}{
		"before the first":                 {-3, []int64{1, 2, 3, 4}},
		"from the start":                   {0, []int64{1, 2, 3, 4}},
		"between what was superseded":      {2, []int64{2, 3, 4}},
		"at the end":                       {4, []int64{2, 3}},
		"a number that was never given":    {99, []int64{2, 3}},
		"after the one that is still good": {1, []int64{2, 3, 4}},
	}
	for name, test := range tests {
		var got []int64
		for _, e := range next(t, follow(t, s, test.after)).Entries {
			got = append(got, e.Seq)
		}
		same(t, name, got, test.want)
	}
}

func testFollowLongLog(t *testing.T, open opener) {
	const rows = 1234
	s := open()
	var long transcript.Step
	for i := range rows {
		long = step("r1", append(long.Rows, row("r1", key(1, i)))...)
	}
	want := mustAppend(t, s, long)

	var got []transcript.Entry
	for updates := follow(t, s, 0); len(got) < rows; {
		got = append(got, next(t, updates).Entries...)
	}
	same(t, "entries", got, want)
}

func testFollowAnotherHandle(t *testing.T, open opener) {
	s, other := open(), open()
	updates := follow(t, s, 0)
	next(t, updates)
	for i := range 5 {
		want := mustAppend(t, other, step("r1", row("r1", key(i, 0))))
		same(t, "append by the other", next(t, updates), store.Update{Entries: want})
	}
	ok(t, other.SetLive(t.Context(), live(9, 1, "a")))
	same(t, "live by the other", next(t, updates), store.Update{Live: []transcript.Live{live(9, 1, "a")}})
}

func testFollowEnds(t *testing.T, open opener) {
	s := open()
	enough := errors.New("enough")
	err := s.Follow(patient(t), scope.Investigation, 0, func(store.Update) error { return enough })
	if err != enough { //nolint:errorlint // as it is
		t.Errorf("fn's error comes back as %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err = s.Follow(ctx, scope.Investigation, 0, func(store.Update) error { cancel(enough); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("follow with a context that ends: %v", err)
	}
	updates, done := make(chan store.Update, 1), make(chan error, 1)
	go func() {
		done <- s.Follow(patient(t), scope.Investigation, 0, func(u store.Update) error { updates <- u; return nil })
	}()
	next(t, updates)
	ok(t, s.Close())
	if err := <-done; err == nil || slices.Contains([]error{context.Canceled, context.DeadlineExceeded}, err) {
		t.Errorf("follow on a store that is closed: %v", err)
	}
}

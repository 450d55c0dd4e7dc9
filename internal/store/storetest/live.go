package storetest

import (
	"errors"
	"math"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

func live(iteration, attempt int, text string) transcript.Live {
	return transcript.Live{Scope: scope, Iteration: iteration, Attempt: attempt, Text: text, Thinking: "about " + text}
}

// liveNow returns the live tails of an investigation, as followers receive them.
func liveNow(t *testing.T, s Store, investigation string) (now []transcript.Live) {
	t.Helper()
	enough := errors.New("enough")
	err := s.Follow(patient(t), investigation, math.MaxInt64, func(u store.Update) error {
		now = append(now, u.Live...)
		return enough
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	return now
}

func testLive(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	tests := []struct{ set, want transcript.Live }{
		{live(2, 1, "a"), live(2, 1, "a")},
		{live(2, 1, "ab"), live(2, 1, "ab")},
		{live(2, 2, "x"), live(2, 2, "x")},
		{live(2, 1, "late"), live(2, 2, "x")},
		{live(1, 9, "later"), live(2, 2, "x")},
		{live(3, 1, "y"), live(3, 1, "y")},
	}
	for _, test := range tests {
		ok(t, s.SetLive(ctx, test.set))
		same(t, "live after "+test.set.Text, liveNow(t, s, scope.Investigation), []transcript.Live{test.want})
	}
	for _, test := range []struct {
		live transcript.Live
		want bool
	}{{live(3, 0, ""), true}, {live(3, 1, ""), true}, {live(3, 2, ""), false}, {live(2, 1, ""), false}, {live(4, 1, ""), false}} {
		same(t, "it has a live tail", must(s.HasLive(ctx, test.live))(t), test.want)
	}
	other := live(1, 1, "other")
	other.Execution = "triage/Other" // sorts before
	ok(t, s.SetLive(ctx, other))
	same(t, "live of two", liveNow(t, s, scope.Investigation), []transcript.Live{other, live(3, 1, "y")})
}

func testLiveEnds(t *testing.T, open opener) {
	s, ctx := open(), t.Context()
	tests := []struct {
		name string
		do   func()
		want []transcript.Live
	}{
		{"begun", func() { ok(t, s.SetLive(ctx, live(1, 1, "a"))) }, []transcript.Live{live(1, 1, "a")}},
		{"a row that is not a reply", func() { steps(t, s, "r1", key(1, 0)) }, nil}, // a new run drops the live tail
		{"again", func() { ok(t, s.SetLive(ctx, live(1, 1, "b"))) }, []transcript.Live{live(1, 1, "b")}},
		{"another row", func() { steps(t, s, "r1", key(1, 1)) }, []transcript.Live{live(1, 1, "b")}},
		{"the reply", func() { mustAppend(t, s, step("r1", reply("r1", key(1, 2), agent.Usage{}))) }, nil},
		{"a chunk after the reply", func() { ok(t, s.SetLive(ctx, live(1, 2, "late"))) }, nil},
		{"next iteration", func() { ok(t, s.SetLive(ctx, live(2, 3, "c"))) }, []transcript.Live{live(2, 3, "c")}},
		{"reset", func() { must(s.Lookup(ctx, scope, key(1, 0), writer("r2")))(t) }, nil},
		{"first iteration again", func() { ok(t, s.SetLive(ctx, live(1, 1, "d"))) }, []transcript.Live{live(1, 1, "d")}},
		{"execution runs", func() { saveAs(t, s, agent.StatusRunning) }, []transcript.Live{live(1, 1, "d")}},
		{"execution has ended", func() { saveAs(t, s, agent.StatusCancelled) }, nil},
	}
	for _, test := range tests {
		test.do()
		same(t, test.name, liveNow(t, s, scope.Investigation), test.want)
	}
}

func saveAs(t *testing.T, s Store, status agent.Status) {
	t.Helper()
	execution := executionOf(scope.Investigation)
	execution.Status = status
	ok(t, s.SaveStage(t.Context(), stageOf(scope.Investigation), []record.Execution{execution}, nil))
}

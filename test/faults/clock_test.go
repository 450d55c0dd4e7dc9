package faults

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/store/storetest"
)

// clock is the clock that workflows are told of. It jumps once.
type clock struct {
	at time.Time // by the environment's clock
	by time.Duration
	// skewed: only what workflows are told jumps, not what sets off timers, as if the
	// machines of the server did not agree.
	skewed bool
}

func (c clock) shown(now time.Time) time.Time {
	if c.by == 0 || now.Before(c.at) {
		return now
	}
	return now.Add(c.by)
}

// timer is how long a timer runs by the environment's clock that runs for d by the
// one that jumps.
func (c clock) timer(now time.Time, d time.Duration) time.Duration {
	end := c.shown(now).Add(d)
	if c.by == 0 || c.skewed || end.Before(c.at) || !now.Before(c.at) {
		return d
	}
	if end = end.Add(-c.by); end.Before(c.at) {
		end = c.at
	}
	return end.Sub(now)
}

// A pause ends when the clock says so, whatever the clock does: never before, and
// no later than the timer that was set for it.
func TestPausesAndClocks(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	const pause = 5 * time.Minute
	for name, tt := range map[string]struct {
		after  time.Duration // the pause has begun
		by     time.Duration
		skewed bool
		passed time.Duration // by a clock that does not jump
		shown  time.Duration // by the one that does
	}{
		"steady":                     {0, 0, false, pause, pause},
		"forward":                    {time.Minute, time.Minute, false, 4 * time.Minute, pause},
		"back":                       {time.Minute, -30 * time.Second, false, 5*time.Minute + 30*time.Second, pause},
		"forward, past the end":      {time.Minute, time.Hour, false, time.Minute, time.Minute + time.Hour},
		"forward, when it is over":   {6 * time.Minute, time.Minute, false, pause, pause},
		"forward, timers do not":     {time.Minute, time.Minute, true, pause, 6 * time.Minute},
		"back, timers do not":        {time.Minute, -30 * time.Second, true, 5*time.Minute + 30*time.Second, pause},
		"always ahead":               {-time.Hour, time.Minute, false, pause, pause},
		"always behind":              {-time.Hour, -30 * time.Second, true, pause, pause},
		"back to before it began":    {time.Minute, -10 * time.Minute, true, 15 * time.Minute, pause},
		"forward soon, timers alone": {30 * time.Second, 4 * time.Minute, false, time.Minute, pause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(s, "clock "+name, 1, profiles[0])
			r.employ(newWorker(rowOf(t, "memgpt"), "A", r.id))
			r.says = script(
				llm.Response{ToolCalls: []agent.ToolCall{{Name: agent.ToolPauseHeartbeats, Arguments: `{"minutes":5}`}}},
				llm.Response{Content: "awake"},
			)
			r.clock = clock{at: r.start.Add(tt.after), by: tt.by, skewed: tt.skewed}
			r.play()
			for _, problem := range r.check(t.Context()) {
				t.Error(problem)
			}
			if len(r.times) != 2 {
				t.Fatalf("%d model calls", len(r.times))
			}
			passed := r.times[1].Sub(r.times[0])
			shown := r.clock.shown(r.times[1]).Sub(r.clock.shown(r.times[0]))
			const exact = 30 * time.Second // the activities take real time, which the environment adds to its clock
			want, got := []time.Duration{tt.passed, tt.shown}, []time.Duration{passed.Round(exact), shown.Round(exact)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("it slept, by the steady clock and by the one that jumps (-want +got):\n%s", diff)
			}
		})
	}
}

package workflows

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// TestSeenIsRequired: later activities require the writes of earlier ones. The next model call requires the results of a
// reply's calls and then stands for them; the next stage and the report require a stage's last entries.
func TestSeenIsRequired(t *testing.T) {
	t.Parallel()
	mark := func(n int) transcript.Mark { return transcript.Mark{Seq: int64(n), At: int64(1000 + n)} }
	f := &fake{plan: planOf([]string{"default"}, []string{"default"})}
	model := script(ask("lab.read", "lab.write"), say("one"), say("two"))
	n := 0
	f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		out, err := model(in)
		n++
		out.Seen = mark(10 * n)
		return out, err
	}
	f.tool = func(in activities.CallToolIn) (activities.CallToolOut, error) {
		return activities.CallToolOut{Status: "success", Seen: mark(11 + in.Call)}, nil
	}
	env := newEnv(t, f)
	if got := investigate(t, env); got.Status != agent.StatusCompleted {
		t.Fatal(got.Error)
	}
	var got [][]transcript.Mark
	for _, in := range f.generated {
		got = append(got, in.Ref.Seen)
	}
	for _, in := range f.called {
		got = append(got, in.Ref.Seen)
	}
	got = append(got, f.saved[0].Seen, f.saved[1].Seen, f.finished[0].Seen)
	first, second := []transcript.Mark{mark(20)}, []transcript.Mark{mark(20), mark(30)}
	want := [][]transcript.Mark{
		nil, {mark(10), mark(11), mark(12)}, first,
		{mark(10)}, {mark(10)},
		first, second, second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

// TestStoreBehindEndsTheInvestigation: if the store was set back, the agent and its investigation fail without retry or fallback.
func TestStoreBehindEndsTheInvestigation(t *testing.T) {
	t.Parallel()
	backed := planOf([]string{"default"})
	backed.Stages[0].Agents[0].Providers = append(backed.Stages[0].Agents[0].Providers, plan.Provider{Model: "other"})
	f := &fake{plan: backed}
	const why = "the store has lost entry 7"
	f.model = func(activities.GenerateIn) (activities.GenerateOut, error) {
		return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError(why, activities.ErrorStoreBehind, nil)
	}
	env := newEnv(t, f)
	if investigate(t, env); len(f.generated) != 1 || len(f.finished) != 1 {
		t.Fatalf("%d model calls, finished %d times", len(f.generated), len(f.finished))
	}
	if in := f.finished[0]; in.Status != agent.StatusFailed || in.EndReason != agent.EndStoreBehind || in.Error != "stage s1: A failed: "+why {
		t.Errorf("finished %s, %s: %s", in.Status, in.EndReason, in.Error)
	}
}

// TestIntentOfADeadWorker: if a worker died after reporting its intent to call, the next attempt is told so.
func TestIntentOfADeadWorker(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		details []any
		want    bool
	}{
		"intended":     {activities.Doing{Intended: true}.Details(), true},
		"and waits":    {activities.Doing{Intended: true, Waits: activities.ErrorStore}.Details(), true},
		"only waits":   {activities.Doing{Waits: activities.ErrorStore}.Details(), false},
		"no heartbeat": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{plan: planOf([]string{"default"}), model: script(ask("lab.write"), say("done"))}
			env := newEnv(t, f)
			kills := 0
			reaping := &reaper{details: tt.details, dies: func(info activity.Info, _ any) bool {
				if info.ActivityType.Name != "CallTool" {
					return false
				}
				if info.Attempt == 1 { // the environment tries ten times what Temporal does not
					kills++
				}
				return kills == 1
			}}
			env.SetWorkerOptions(worker.Options{
				DeadlockDetectionTimeout: time.Minute, Interceptors: []interceptor.WorkerInterceptor{reaping},
			})
			investigate(t, env)
			if len(f.called) != 1 || f.called[0].Intended != tt.want {
				t.Errorf("%d deaths, then called with %+v", kills, f.called)
			}
		})
	}
}

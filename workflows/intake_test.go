package workflows

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestIntake: the intake checks again after a signal or at the next due time, and ends when no alert waits.
func TestIntake(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		next  []time.Duration // of one look after the other; those that are left = 0
		wakes []time.Duration // after the beginning
		looks []time.Duration
	}{
		"nothing waits": {looks: []time.Duration{0}},
		"until there is room": {next: []time.Duration{time.Minute, 20 * time.Second},
			looks: []time.Duration{0, 60 * time.Second, 80 * time.Second}},
		"an investigation ends": {next: []time.Duration{time.Minute}, wakes: []time.Duration{10 * time.Second},
			looks: []time.Duration{0, 10 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
			env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // the machine may be busy
			env.SetTestTimeout(time.Minute)
			var begun time.Time
			var looks []time.Duration
			env.RegisterActivityWithOptions(func(context.Context) (out activities.PlaceAlertsOut, err error) {
				if begun.IsZero() {
					begun = env.Now()
				}
				if len(looks) < len(test.next) {
					out.Next = plan.Duration(test.next[len(looks)])
				}
				looks = append(looks, env.Now().Sub(begun).Round(10*time.Second))
				return out, nil
			}, activity.RegisterOptions{Name: "PlaceAlerts"})
			for _, at := range test.wakes {
				env.RegisterDelayedCallback(func() { env.SignalWorkflow(SignalWake, nil) }, at)
			}
			env.ExecuteWorkflow(Intake)
			if err := env.GetWorkflowError(); err != nil || !env.IsWorkflowCompleted() {
				t.Fatal(err)
			}
			if len(looks) != len(test.looks) {
				t.Fatalf("it looked at %v, want %v", looks, test.looks)
			}
			for n := range looks {
				if looks[n] != test.looks[n] {
					t.Errorf("it looked at %v, want %v", looks, test.looks)
				}
			}
		})
	}
}

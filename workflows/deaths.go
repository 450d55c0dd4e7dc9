package workflows

import (
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
)

// heartbeatTimeout is Temporal's name for the failure of an activity whose worker has died.
const heartbeatTimeout = "TemporalTimeout:Heartbeat"

// survived repeats an activity until its worker survives it; n counts the tries, from 1.
// Temporal alone would retry for as long as it waits for outages, even a call that exhausts a
// worker's memory each time. call distinguishes the concurrent calls of a workflow.
func survived(ctx workflow.Context, what string, call int, run func(n int) error) error {
	key := fmt.Sprintf("%s/%s/%d/", workflow.GetInfo(ctx).WorkflowExecution.ID, what, call)
	var first time.Time
	for n := 1; ; n++ {
		err := run(n)
		if !died(err) {
			return err
		}
		now := workflow.Now(ctx)
		if n == 1 {
			first = now
		}
		if n >= maxDeaths && now.Sub(first) >= minDying {
			return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
				"%s: %d workers in a row crashed or stopped responding during this call. Check their logs for the cause (for example, "+
					"out of memory), then give the workers more memory or make the call do less", what, n), activities.ErrorWorkerDied, nil)
		}
		summary := fmt.Sprintf("%s: retry after %d worker crashes", what, n)
		timer := workflow.NewTimerWithOptions(ctx, apart(n, key), workflow.TimerOptions{Summary: summary})
		if err := timer.Get(ctx, nil); err != nil {
			return err
		}
	}
}

// apart is how long to wait after the n-th death: up to twice the backoff for a provider, so
// that calls that died together are not always retried together.
func apart(n int, what string) time.Duration { return part(2*doubled(n), n, what) }

// died reports that the activity's worker has sent no heartbeat for HeartbeatTimeout.
func died(err error) bool {
	timeout, ok := errors.AsType[*temporal.TimeoutError](err)
	return ok && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT
}

// intended reports whether an attempt whose worker has died had written the intent of its call.
func intended(err error) bool {
	timeout, ok := errors.AsType[*temporal.TimeoutError](err)
	return ok && timeout.HasLastHeartbeatDetails() &&
		activities.ReadDoing(func(to any) error { return timeout.LastHeartbeatDetails(to) }).Intended
}

// mortal leaves retries after a worker's death to survived instead of Temporal.
func mortal(policy *temporal.RetryPolicy) *temporal.RetryPolicy {
	policy.NonRetryableErrorTypes = append(policy.NonRetryableErrorTypes, heartbeatTimeout)
	return policy
}

package workflows

import (
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
)

// heartbeatTimeout is what Temporal calls the failure of an activity whose worker has died.
const heartbeatTimeout = "TemporalTimeout:Heartbeat"

// maxDeaths is how many workers, one after the other, one activity may take with it: the
// waits between them, ten minutes in all, let the calls that died beside it end meanwhile.
const maxDeaths = 10

// survived runs an activity until its worker survives it, the n-th time (from 1). Temporal
// would go on for as long as outages are waited for, with whatever it is that uses up a
// worker's memory each time.
func survived(ctx workflow.Context, what string, run func(n int) error) error {
	for n := 1; ; n++ {
		err := run(n)
		if !died(err) {
			return err
		}
		if n == maxDeaths {
			return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
				"%s: %d workers, one after the other, have died or stopped answering in the midst of it. Look in their logs for what ended them "+
					"(out of memory, for one), and give them more of it, or this call less to do", what, n), activities.ErrorWorkerDied, nil)
		}
		wait := backoff(n, workflow.GetInfo(ctx).WorkflowExecution.ID+what)
		timer := workflow.NewTimerWithOptions(ctx, wait, workflow.TimerOptions{Summary: fmt.Sprintf("%s: again, after %d workers have died", what, n)})
		if err := timer.Get(ctx, nil); err != nil {
			return err
		}
	}
}

// died: the activity's worker has not been heard of for HeartbeatTimeout.
func died(err error) bool {
	timeout, ok := errors.AsType[*temporal.TimeoutError](err)
	return ok && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT
}

// mortal has Temporal leave it to survived to try again after a worker's death.
func mortal(policy *temporal.RetryPolicy) *temporal.RetryPolicy {
	policy.NonRetryableErrorTypes = append(policy.NonRetryableErrorTypes, heartbeatTimeout)
	return policy
}

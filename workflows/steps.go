package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/route"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// step is an activity that takes milliseconds and writes a journal. It runs as a local
// activity, which costs a fraction of a regular one. If the worker dies before the workflow
// task ends, the step runs again and finds its earlier writes.
type step struct {
	activity, in any
	// inHistory replaces in for a regular activity, whose arguments are stored in the
	// history. Nil means in.
	inHistory any
	summary   string
	// within bounds the local tries, for which signals and queries wait.
	within time.Duration
}

// storeStep runs an activity that touches only our own store.
func storeStep(ctx workflow.Context, summary string, activity, in, out any) error {
	return step{activity: activity, in: in, summary: summary, within: storeWithin}.run(storeOptions(ctx, summary), out)
}

// run tries the step within the workflow task, and then as a regular activity with the options of
// ctx. The regular one waits for an unavailable store, and other workers can run it. Cancellation
// does not interrupt the local tries, so their writes are complete before the
// workflow continues.
func (s step) run(ctx workflow.Context, out any) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	local, _ := workflow.NewDisconnectedContext(localOptions(ctx, s.within, s.summary))
	err := workflow.ExecuteLocalActivity(local, s.activity, s.in).Get(local, out)
	if err == nil || lasts(err) {
		return err
	}
	return workflow.ExecuteActivity(ctx, s.activity, cmp.Or(s.inHistory, s.in)).Get(ctx, out)
}

// lasts reports whether a regular activity would end with the same error.
func lasts(err error) bool {
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && failed.NonRetryable() && !slices.Contains(leftToRegular, failed.Type())
}

// leftToRegular lists final errors of local activities that a regular one may avoid. If the
// input is too large, the regular one gets inHistory, which may be smaller.
var leftToRegular = []string{ErrorTooLarge, activities.ErrorNotQuick, activities.ErrorReplaced}

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
		if n >= maxWorkerDeaths && now.Sub(first) >= minDying {
			return temporal.NewNonRetryableApplicationError(fmt.Sprintf(
				"%s: %d workers in a row crashed or stopped responding during this call. Check their logs for the cause (for example, "+
					"out of memory), then give the workers more memory or make the call do less", what, n), activities.ErrorWorkerDied, nil)
		}
		summary := fmt.Sprintf("%s: retry; worker crashes so far: %d", what, n)
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

// A workflow that did not complete ends in Temporal with its true status (failed or
// cancelled). Its result travels in the error's details, so the parent keeps it. These
// two functions write and read it.

// The stable types of the errors that workflows end with.
const (
	ErrorFailed   = "Failed"
	ErrorTimedOut = "TimedOut"
)

// ending converts a result to the return values of a workflow function.
func ending[R any](status agent.Status, result R, message, errorType string) (R, error) {
	switch status {
	case agent.StatusCancelled:
		return result, temporal.NewCanceledError(result)
	case agent.StatusTimedOut:
		return result, closing(message, ErrorTimedOut, result)
	case agent.StatusFailed:
		if errorType == "" {
			errorType = ErrorFailed
		}
		return result, closing(message, errorType, result)
	}
	return result, nil
}

func closing(message, errorType string, details any) error {
	return temporal.NewApplicationErrorWithOptions(message, errorType, temporal.ApplicationErrorOptions{
		NonRetryable: true,
		Details:      []any{details},
	})
}

// outcomeOf reads the result of an ended child, even of a failed one. ok is
// false if the child returned none: it was terminated, or never started.
func outcomeOf[R any](ctx workflow.Context, child workflow.Future) (result R, ok bool, err error) {
	err = child.Get(ctx, &result)
	if err == nil {
		return result, true, nil
	}
	var cancelled *temporal.CanceledError
	var failed *temporal.ApplicationError
	switch {
	case errors.As(err, &failed) && failed.HasDetails():
		ok = failed.Details(&result) == nil
	case errors.As(err, &cancelled) && cancelled.HasDetails():
		ok = cancelled.Details(&result) == nil
	}
	return result, ok, err
}

// failure names an activity's error: its stable type, and its text without
// Temporal's wrapping.
func failure(err error) (errorType, message string) {
	var app *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	switch {
	case errors.As(err, &app):
		return app.Type(), app.Message()
	case errors.As(err, &timeout) && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		return activities.ErrorTimeout, "no worker picked up the call in time: the workers are down or busy"
	case errors.As(err, &timeout):
		return activities.ErrorTimeout, "no answer in time (" + timeout.TimeoutType().String() + ")"
	}
	return ErrorFailed, err.Error()
}

// maxSeen bounds the entries that an activity must require: a reply has at most 64 calls. maxSeenOn bounds
// the entries that one stage passes to the next: the last entries of that many agents.
const (
	maxSeen   = 80
	maxSeenOn = 16
)

// addSeen adds marks to the known ones, and keeps the newest. It does not modify known.
func addSeen(known []transcript.Mark, marks ...transcript.Mark) []transcript.Mark {
	known = slices.Clone(known)
	for _, m := range marks {
		if m.Seq > 0 && !slices.Contains(known, m) {
			known = append(known, m)
		}
	}
	slices.SortStableFunc(known, func(a, b transcript.Mark) int { return int(a.Seq - b.Seq) })
	return newest(known, maxSeen)
}

// ref names the execution to an activity that makes calls.
func (r *agentRun) ref() activities.Ref {
	ref := r.in.Ref
	ref.Seen = r.state.Seen
	return ref
}

// saw adds entries to those that the next model call requires the store to have.
func (r *agentRun) saw(marks ...transcript.Mark) { r.state.Seen = addSeen(r.state.Seen, marks...) }

// newestSeen returns only the mark with the highest number.
func newestSeen(known []transcript.Mark) []transcript.Mark { return newest(addSeen(known), 1) }

// replaceSeen replaces the entries that a model call has required by its reply, which was written after them.
func (r *agentRun) replaceSeen(reply transcript.Mark) {
	if reply.Seq > 0 {
		r.state.Seen = []transcript.Mark{reply}
	}
}

// An activity that finds the store older than Temporal's history fails with the type ErrorStoreBehind. From then on,
// nothing in the investigation may make a call: not the agent, not the agents beside it, not the agent that dispatched it,
// and no later stage, whatever the chain does on errors.

// isBehind reports whether an error says that the store is older than Temporal's history.
func isBehind(err error) bool {
	if err == nil {
		return false
	}
	errorType, _ := failure(err)
	return errorType == activities.ErrorStoreBehind
}

// noteBehind keeps the agent from making more calls if err says that the store is older than Temporal's history.
func (r *agentRun) noteBehind(err error) {
	if r.behind == nil && isBehind(err) {
		r.behind = err
	}
}

// noteSubBehind is noteBehind for the result of an agent that this one dispatched.
func (r *agentRun) noteSubBehind(result AgentResult) {
	if result.ErrorType == activities.ErrorStoreBehind {
		r.noteBehind(temporal.NewNonRetryableApplicationError(result.Error, result.ErrorType, nil))
	}
}

// behind returns the agent that found the store older than Temporal's history, or nil.
func (r *stageRun) behind() *member {
	for _, m := range r.agents {
		if m.closed && m.result.ErrorType == activities.ErrorStoreBehind {
			return m
		}
	}
	return nil
}

// notSaved makes the stage fail because its end is not in the store. The investigation saves it later, if it can.
func (r *stageRun) notSaved(err error) {
	errorType, message := failure(err)
	r.result.Started, r.result.Ended = time.Time{}, time.Time{}
	if r.result.Status == agent.StatusCompleted || isBehind(err) {
		r.result.Status, r.result.Outcome = agent.StatusFailed, agent.OutcomeError
		r.result.ErrorType, r.result.Error = errorType, clip.Text(message, 2000)
	}
}

// stopBehind ends the chain at a stage that found the store older than Temporal's history, whatever else has ended it. It
// cancels the other stages.
func (r *investigationRun) stopBehind(way route.Walk, s *stageChild, result StageResult) {
	way.Stop(agent.EndStoreBehind)
	r.state.Walk.End = agent.EndStoreBehind
	r.result.Error = fmt.Sprintf("stage %s: %s", s.plan.Name, result.why())
	r.cancelStages()
}

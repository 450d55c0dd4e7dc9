package workflows

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// Every timeout and retry policy of Inquest is in this file.

// HeartbeatTimeout is how soon a dead worker is noticed; activities beat four
// times as often, and cancellation arrives with the answer.
const HeartbeatTimeout = 5 * time.Second

// WorkflowTaskTimeout is how soon a worker that died deciding is noticed; the
// default of 10 s would be felt after every crash.
const WorkflowTaskTimeout = 5 * time.Second

const (
	firstRetry       = time.Second // also after a crash, so never longer
	storeTimeout     = time.Minute // for activities that touch only the store
	listTimeout      = time.Minute
	queueWait        = time.Minute      // for tools with a task queue of their own: nobody there is a result
	defaultIteration = 10 * time.Minute // the plan normally says
	defaultTool      = 2 * time.Minute
	defaultApproval  = time.Hour        // the plan normally says
	codeTimeout      = 10 * time.Minute // for hooks and mocks; the stage's own timeout may be shorter
	resultGrace      = 15 * time.Second // for what CallTool does around the call itself
)

// Attempts count crashes of workers as well as errors.
const (
	generateAttempts = 12
	toolAttempts     = 10
	ownToolAttempts  = 20
	listAttempts     = 5
	codeAttempts     = 10
	storeAttempts    = 100
)

func retry(attempts int32, longest time.Duration) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    firstRetry,
		BackoffCoefficient: 2,
		MaximumInterval:    longest,
		MaximumAttempts:    attempts,
		// An oversize result would otherwise be tried again for ever.
		NonRetryableErrorTypes: []string{"payloadSizeError"},
	}
}

func storeOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: storeTimeout,
		HeartbeatTimeout:    HeartbeatTimeout,
		RetryPolicy:         retry(storeAttempts, 30*time.Second),
		Summary:             summary,
	})
}

// codeOptions are for functions of the worker's program.
func codeOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: codeTimeout,
		HeartbeatTimeout:    HeartbeatTimeout,
		WaitForCancellation: true,
		RetryPolicy:         retry(codeAttempts, 30*time.Second),
		Summary:             summary,
	})
}

func generateOptions(ctx workflow.Context, t agent.Timeouts, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: orDefault(t.Iteration.D(), defaultIteration),
		HeartbeatTimeout:    HeartbeatTimeout,
		WaitForCancellation: true,
		RetryPolicy:         retry(generateAttempts, time.Minute),
		Summary:             summary,
	})
}

func toolOptions(ctx workflow.Context, t agent.Timeouts, call activities.Call) workflow.Context {
	options := workflow.ActivityOptions{
		TaskQueue:           call.Queue,
		StartToCloseTimeout: orDefault(t.Tool.D(), defaultTool) + resultGrace,
		HeartbeatTimeout:    HeartbeatTimeout,
		WaitForCancellation: true,
		RetryPolicy:         retry(toolAttempts, 30*time.Second),
		Summary:             call.Name,
	}
	if call.Queue != "" {
		options.ScheduleToStartTimeout = orDefault(t.Queue.D(), queueWait)
	}
	return workflow.WithActivityOptions(ctx, options)
}

// ownToolOptions are for calls that touch only our own store: they run within the
// workflow task, and a crash runs them again into what they have written.
func ownToolOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout:    storeTimeout,
		ScheduleToCloseTimeout: 5 * storeTimeout,
		RetryPolicy:            retry(ownToolAttempts, 5*time.Second),
		Summary:                summary,
	})
}

func listOptions(ctx workflow.Context, t agent.Timeouts, server agent.ServerSkeleton) workflow.Context {
	options := workflow.ActivityOptions{
		TaskQueue:           server.TaskQueue,
		StartToCloseTimeout: listTimeout,
		HeartbeatTimeout:    HeartbeatTimeout,
		RetryPolicy:         retry(listAttempts, 10*time.Second),
		Summary:             "tools of " + server.Name,
	}
	if server.TaskQueue != "" {
		options.ScheduleToStartTimeout = orDefault(t.Queue.D(), queueWait)
	}
	return workflow.WithActivityOptions(ctx, options)
}

// childOptions has no run or execution timeout: the code would get no say.
func childOptions(ctx workflow.Context, id, summary string) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		WorkflowTaskTimeout:   WorkflowTaskTimeout,
		WaitForCancellation:   true,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         summary,
	})
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

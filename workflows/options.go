package workflows

import (
	"cmp"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Every timeout, retry policy and expiry of the workflows is in this file.

// HeartbeatTimeout is how soon a worker's death is noticed. It tolerates stalls of Temporal that
// are a few seconds shorter.
const HeartbeatTimeout = 12 * time.Second

// WorkflowTaskTimeout is how soon the death of a worker in a workflow task is noticed. With a shorter
// one, a slow store or a busy worker would make tasks time out and repeat endlessly.
const WorkflowTaskTimeout = 10 * time.Second

// Patience is how long activities wait for our own infrastructure: the store and Temporal.
// Investigations must not fail because of such an outage, and operators repair it.
const Patience = 7 * 24 * time.Hour

const (
	firstRetry       = time.Second     // also after a crash, so never longer
	storeTimeout     = time.Minute     // for activities that touch only the store
	storeWithin      = 3 * time.Second // the same, within a workflow task
	listWithin       = 1500 * time.Millisecond
	listTimeout      = time.Minute
	queueWait        = time.Minute      // for tools with a separate task queue; a missing worker is a result
	defaultIteration = 10 * time.Minute // the plan normally says
	defaultTool      = 2 * time.Minute
	defaultApproval  = time.Hour        // the plan normally says
	grace            = time.Hour        // for an unavailable store while a reply or a result is pending
	lastWord         = 2 * time.Minute  // to conclude after a limit, if the plan does not say
	subLastWord      = time.Minute      // the most that sub-agents get of it, before their agent concludes
	rewriteAfter     = 5 * time.Minute  // wait before a failed write of waits is repeated
	firstListing     = 2 * time.Second  // for servers that have not listed their tools within listWithin, in older runs
	defaultStartup   = 3 * time.Minute  // for servers that start, if the plan does not say
	maxStartup       = time.Hour        // the most that a plan may say: each try costs events
	runningStartup   = 45 * time.Second // the most for servers that run already
	firstStartTry    = 5 * time.Second  // of the requests to such a server, which are then doubled
	longestStartTry  = 40 * time.Second // shorter than listTimeout
	startSlack       = 10 * time.Minute // for times without a worker, which do not count
	lastListing      = 45 * time.Second // for the first catalogue of an agent that has had no tools at all
	relistAfter      = time.Minute      // wait before an unavailable tool server is asked again
	maxCatalogueAge  = time.Hour        // maximum age of tool catalogues at the start of a turn
)

// reportInterval is how long a workflow collects the waits of the agents below it before it tells its parent. It grows with
// the history: each message takes about nine events, and days of approvals must not fill it.
func reportInterval(events int) time.Duration {
	return time.Duration(max(events-1000, 0)/100) * time.Second
}

// How long, and how, an agent waits for a provider, if the plan does not say.
const (
	outageAlone    = 4 * time.Hour
	outageFallback = time.Minute
	outageHurried  = time.Minute     // for an agent that was told to conclude
	longestBackoff = 5 * time.Minute // between two tries
	longOutage     = 5 * time.Second // shortest wait that is shown to people
)

// How long a question waits for people, if the plan does not say.
const (
	clarificationWait = 24 * time.Hour
	confirmationWait  = time.Hour
	reviewWait        = 30 * time.Minute
)

// How long an ID may be in use by a child of a run before a reset. Such a child ends when its
// running calls have ended and its results are saved.
const (
	firstIDWait   = 250 * time.Millisecond
	longestIDWait = 15 * time.Minute // a wait takes about 15 events
	maxIDWait     = 24 * time.Hour
)

// The workflow counts the tries of a model or a tool server, not Temporal. Crashes, deployments
// and outages of our infrastructure do not count.
const (
	serverTries        = 3                // of an unavailable tool server
	longestServerRetry = 10 * time.Second // between tries of one that may be back soon, for as long as a call may take
)

// The tries of a step within the workflow task.
const (
	localTries      = 3
	firstLocalRetry = 100 * time.Millisecond
)

// A call is given up once maxWorkerDeaths workers have died in the middle of it, one after the other, and the first death is
// minDying ago. By then, an innocent call that ran beside the fatal one has had a try without it, unless it takes longer
// than the waits between the tries of the fatal one.
const (
	maxWorkerDeaths = 10
	minDying        = time.Hour
)

// retry is for failures unrelated to an activity's work. It ends with the activity's
// own bound.
func retry(longest time.Duration) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    firstRetry,
		BackoffCoefficient: 2,
		MaximumInterval:    longest,
		// An oversize result would otherwise be retried forever.
		NonRetryableErrorTypes: []string{"payloadSizeError"},
	}
}

func storeOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: Patience,
		StartToCloseTimeout:    storeTimeout,
		HeartbeatTimeout:       HeartbeatTimeout,
		WaitForCancellation:    true, // its writes are complete before the workflow continues
		RetryPolicy:            retry(30 * time.Second),
		Summary:                summary,
	})
}

// codeOptions returns the options for functions of the worker's program.
func codeOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: Patience,
		StartToCloseTimeout:    activities.CodeTime + grace, // RunHook and RunMock keep to the function's time themselves
		HeartbeatTimeout:       HeartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            mortal(retry(30 * time.Second)),
		Summary:                summary,
	})
}

func generateOptions(ctx workflow.Context, t plan.Timeouts, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: Patience,
		StartToCloseTimeout:    2*cmp.Or(t.Iteration.D(), defaultIteration) + grace, // Generate keeps to the iteration's time itself
		HeartbeatTimeout:       HeartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            mortal(retry(30 * time.Second)),
		Summary:                summary,
	})
}

func toolOptions(ctx workflow.Context, t plan.Timeouts, call activities.Call, summary string) workflow.Context {
	options := workflow.ActivityOptions{
		TaskQueue:              call.Queue,
		ScheduleToCloseTimeout: Patience,
		StartToCloseTimeout:    cmp.Or(t.Tool.D(), defaultTool) + grace,
		HeartbeatTimeout:       HeartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            mortal(retry(30 * time.Second)),
		Summary:                summary,
	}
	if call.Queue != "" {
		options.ScheduleToStartTimeout = cmp.Or(t.Queue.D(), queueWait)
	}
	return workflow.WithActivityOptions(ctx, options)
}

// quickOptions returns the options for a call of milliseconds within the workflow task. The activity
// itself returns the task if it takes longer.
func quickOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: storeTimeout,
		RetryPolicy:         limited(1, retry(firstRetry)),
		Summary:             summary,
	})
}

func limited(attempts int32, policy *temporal.RetryPolicy) *temporal.RetryPolicy {
	policy.MaximumAttempts = attempts
	return policy
}

// localOptions are for tries within the workflow task, which waits for them.
func localOptions(ctx workflow.Context, within time.Duration, summary string) workflow.Context {
	policy := limited(localTries, retry(within))
	policy.InitialInterval = firstLocalRetry
	policy.NonRetryableErrorTypes = append(policy.NonRetryableErrorTypes, activities.ErrorWorkerCannot)
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: within,
		RetryPolicy:            policy,
		Summary:                summary,
	})
}

func listOptions(ctx workflow.Context, t plan.Timeouts, server plan.ServerSkeleton) workflow.Context {
	options := workflow.ActivityOptions{
		TaskQueue:              server.TaskQueue,
		ScheduleToCloseTimeout: Patience,
		StartToCloseTimeout:    listTimeout,
		HeartbeatTimeout:       HeartbeatTimeout,
		RetryPolicy:            retry(30 * time.Second),
		Summary:                "tools of " + server.Name,
	}
	if server.TaskQueue != "" {
		options.ScheduleToStartTimeout = cmp.Or(t.Queue.D(), queueWait)
	}
	return workflow.WithActivityOptions(ctx, options)
}

// Priority returns Temporal's priority for a request. All workflows and activities started by it inherit the priority.
func Priority(labels agent.Labels) temporal.Priority {
	return temporal.Priority{PriorityKey: labels.Priority, FairnessKey: labels.Tenant}
}

// childOptions sets no run or execution timeout, because the code could not react to it.
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

// scoringOptions returns the options for a child that outlives its parent.
func scoringOptions(ctx workflow.Context, id string) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		WorkflowTaskTimeout:   WorkflowTaskTimeout,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         "score",
	})
}

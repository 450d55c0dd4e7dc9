// Package workflows decides what happens next in an investigation, and does no
// I/O: Investigation walks the plan's stages, Stage runs agents in parallel,
// and an agent workflow loops over model calls and tool calls. Workflows hold only
// small control data; the conversation itself is in the store.
package workflows

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// patterns maps the patterns of the type table to their workflows. It is a function, because a variable would link all workflows into
// programs that only use this package's messages.
func patterns() map[agent.Pattern]any {
	return map[agent.Pattern]any{
		agent.Iterating:  IteratingAgent,
		agent.SingleShot: SingleShotAgent,
		agent.ToolPlan:   ToolPlanAgent,
		agent.Service:    ServiceAgent,
	}
}

// Register makes a worker run the workflows.
func Register(registry worker.WorkflowRegistry) {
	registry.RegisterWorkflow(Investigation)
	registry.RegisterWorkflow(Stage)
	// A conversation may be open for months, so it moves to new deployments.
	registry.RegisterWorkflowWithOptions(Conversation, workflow.RegisterOptions{VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	registry.RegisterWorkflowWithOptions(Fleet, workflow.RegisterOptions{VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	registry.RegisterWorkflowWithOptions(Intake, workflow.RegisterOptions{VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	registry.RegisterWorkflow(IteratingAgent)
	registry.RegisterWorkflow(SingleShotAgent)
	registry.RegisterWorkflow(ToolPlanAgent)
	registry.RegisterWorkflow(ServiceAgent)
	registry.RegisterWorkflow(Scoring)
	registry.RegisterWorkflow(Reconcile)
}

// Pausable are the types of workflows that have the signal pause.
var Pausable = []string{
	TypeInvestigation, TypeConversation, "Stage", "IteratingAgent", "SingleShotAgent", "ToolPlanAgent", "ServiceAgent",
}

// Changes are the IDs of all changes that workflows make by workflow.GetVersion. On a worker that does not know a recorded
// ID, the workflow's tasks fail until Temporal gives them to a worker that does.
var Changes = []string{versionRecordEnd, versionBoundListing, versionLearn, versionRecordTurns, versionAwaitServers, versionRecordDecided}

// TypeFleet is the workflow type of a fleet's mark.
const TypeFleet = "Fleet"

// FleetID is the workflow id of the mark that says which store the workers of a
// task queue share.
func FleetID(queue string) string { return "inquest-fleet-" + queue }

// FleetStore is the key of the mark's memo: FleetMemo.
const FleetStore = "store"

// FleetMemo names a store.
type FleetMemo struct {
	ID      string `json:"id"`
	Address string `json:"address"` // without secrets
}

// Fleet is a workflow that does nothing: only its memo matters, as the mark of a fleet.
// It runs until it is cancelled. The next worker that starts then creates a new one.
func Fleet(ctx workflow.Context) error {
	ctx.Done().Receive(ctx, nil)
	return ctx.Err()
}

// Reconcile closes the records of investigations that ended without recording it. A
// Temporal Schedule starts it every few minutes.
func Reconcile(ctx workflow.Context) (out activities.ReconcileOut, err error) {
	err = workflow.ExecuteActivity(storeOptions(ctx, "investigations that ended without closing their records"), act.Reconcile).Get(ctx, &out)
	return out, err
}

// TypeIntake is the workflow type that assigns webhook alerts to investigations.
const TypeIntake = "Intake"

// IntakeID is its workflow id, one for the workers of a task queue.
func IntakeID(queue string) string { return "inquest-intake-" + queue }

// SignalWake makes Intake check the waiting alerts: new ones have arrived, or an investigation has ended.
const SignalWake = "wake"

// Intake assigns waiting alerts to investigations, and ends when none are left. Writers of alerts, and investigations of
// alerts when they end, signal it. The signal starts it if it is not running.
func Intake(ctx workflow.Context) error {
	options := workflow.SignalChannelOptions{Description: "Check the queued alerts. Input: nothing"}
	wake := workflow.GetSignalChannelWithOptions(ctx, SignalWake, options)
	for {
		for wake.ReceiveAsync(nil) { // the store has everything they refer to
		}
		var out activities.PlaceAlertsOut
		if err := workflow.ExecuteActivity(storeOptions(ctx, "queued alerts"), act.PlaceAlerts).Get(ctx, &out); err != nil {
			return err
		}
		switch {
		case wake.Len() > 0 && !workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			continue
		case wake.Len() > 0:
			return workflow.NewContinueAsNewError(ctx, Intake) // the next run handles the signals first
		case out.Next == 0:
			return nil
		}
		timer, stop := workflow.WithCancel(ctx)
		waited := workflow.NewSelector(ctx)
		waited.AddFuture(workflow.NewTimer(timer, time.Duration(out.Next)), func(workflow.Future) {})
		waited.AddReceive(wake, func(workflow.ReceiveChannel, bool) {})
		waited.Select(ctx)
		stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			for wake.ReceiveAsync(nil) { // the next run begins with a check
			}
			return workflow.NewContinueAsNewError(ctx, Intake)
		}
	}
}

// Workflows keep the arguments of activities and children small by design. Temporal would
// fail the workflow task repeatedly if they were too large, so their size is checked
// before anything is scheduled.
const (
	// MaxArguments bounds an activity's arguments, in bytes of JSON.
	MaxArguments = 64 << 10
	// MaxLocalArguments bounds a local activity's arguments, which are not stored in the history.
	MaxLocalArguments = 1 << 20
	// MaxChildArguments bounds a child's arguments: a stage's skeleton and the messages from
	// people so far.
	MaxChildArguments = 128 << 10
)

// ErrorTooLarge is the error type of a step whose arguments are too large to schedule.
const ErrorTooLarge = "ArgumentsTooLarge"

// Guard turns a step with too large arguments into a clear failure.
type Guard struct {
	interceptor.WorkerInterceptorBase
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (*Guard) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &inbound{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
}

// Init installs the check on all activities and children of a workflow.
func (i *inbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&outbound{interceptor.WorkflowOutboundInterceptorBase{Next: next}})
}

type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase
}

// ExecuteActivity implements interceptor.WorkflowOutboundInterceptor.
func (o *outbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if err := checkSize("activity "+name, MaxArguments, args); err != nil {
		return failed(ctx, err)
	}
	return o.Next.ExecuteActivity(ctx, name, args...)
}

// ExecuteLocalActivity implements interceptor.WorkflowOutboundInterceptor.
func (o *outbound) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if err := checkSize("activity "+name, MaxLocalArguments, args); err != nil {
		return failed(ctx, err)
	}
	return o.Next.ExecuteLocalActivity(ctx, name, args...)
}

// ExecuteChildWorkflow implements interceptor.WorkflowOutboundInterceptor.
func (o *outbound) ExecuteChildWorkflow(ctx workflow.Context, name string, args ...any) workflow.ChildWorkflowFuture {
	if err := checkSize("workflow "+name, MaxChildArguments, args); err != nil {
		return unborn{failed(ctx, err)}
	}
	return o.Next.ExecuteChildWorkflow(ctx, name, args...)
}

// unborn is a child that never starts.
type unborn struct{ workflow.Future }

// GetChildWorkflowExecution implements workflow.ChildWorkflowFuture.
func (u unborn) GetChildWorkflowExecution() workflow.Future { return u.Future }

// SignalChildWorkflow implements workflow.ChildWorkflowFuture.
func (u unborn) SignalChildWorkflow(workflow.Context, string, any) workflow.Future { return u.Future }

func failed(ctx workflow.Context, err error) workflow.Future {
	future, result := workflow.NewFuture(ctx)
	result.SetError(err)
	return future
}

func checkSize(what string, limit int, args []any) error {
	body, err := json.Marshal(args)
	if err != nil || len(body) <= limit {
		return nil // the SDK reports values that cannot be encoded
	}
	return temporal.NewNonRetryableApplicationError(
		fmt.Sprintf("%s was not scheduled: its arguments are %d bytes, and %d are allowed", what, len(body), limit), ErrorTooLarge, nil)
}

// fit cuts a text for people so that it takes at most n bytes as JSON, where a special
// character can be six times as large.
func fit(text string, n int) string {
	if jsonSize(text) <= n {
		return text
	}
	const more = "…"
	for size, end := jsonSize(more), 0; ; {
		_, width := utf8.DecodeRuneInString(text[end:])
		if size += jsonSize(text[end:end+width]) - len(`""`); size > n {
			return text[:end] + more
		}
		end += width
	}
}

// jsonSize returns the size of a value in a payload, in bytes.
func jsonSize(v any) int { return len(jsonOf(v)) }

// jsonOf returns a value as JSON, as in a payload. The SDK reports values that cannot be encoded.
func jsonOf(v any) []byte {
	body, _ := json.Marshal(v)
	return body
}

// leaveNewer leaves a workflow whose plan is newer than this program to a newer worker: the panic makes the workflow task
// fail, and Temporal retries it, possibly on another worker.
func leaveNewer(planVersion int) {
	if planVersion > plan.Version {
		panic(fmt.Errorf("%w: its format is %d; this worker supports formats up to %d. A worker of the version that made the plan must run it",
			plan.ErrNewer, planVersion, plan.Version))
	}
}

// agentWorkflow returns the workflow of an agent. It leaves an unknown pattern to a newer worker, like leaveNewer.
func agentWorkflow(pattern agent.Pattern) any {
	workflowType, ok := patterns()[pattern]
	if !ok {
		panic(fmt.Errorf("%w: it has an agent with the pattern %q, which this worker does not know", plan.ErrNewer, pattern))
	}
	return workflowType
}

package workflows

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

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
		panic(fmt.Errorf("%w: %d, and this worker knows %d. A worker of the version that made the plan has to run it",
			plan.ErrNewer, planVersion, plan.Version))
	}
}

// agentWorkflow returns the workflow of an agent. It leaves an unknown pattern to a newer worker, like leaveNewer.
func agentWorkflow(pattern agent.Pattern) any {
	workflowType, ok := patterns[pattern]
	if !ok {
		panic(fmt.Errorf("%w: it has an agent with the pattern %q, which this worker does not know", plan.ErrNewer, pattern))
	}
	return workflowType
}

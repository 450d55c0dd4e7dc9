package workflows

import (
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// MaxArguments bounds what an activity is given, in bytes of JSON. Ours are small
// by construction; a server that is given too much fails the workflow's task, for
// ever, so this is looked at before it is scheduled.
const MaxArguments = 64 << 10

// ErrorTooLarge is the type of the error of an activity that was not scheduled.
const ErrorTooLarge = "ArgumentsTooLarge"

// Guard makes an activity with arguments that are too large a clear failure.
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

// Init puts the check between a workflow and what it schedules.
func (i *inbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&outbound{interceptor.WorkflowOutboundInterceptorBase{Next: next}})
}

type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase
}

// ExecuteActivity schedules an activity whose arguments are small enough.
func (o *outbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if err := checkSize(name, args); err != nil {
		future, result := workflow.NewFuture(ctx)
		result.SetError(err)
		return future
	}
	return o.Next.ExecuteActivity(ctx, name, args...)
}

func checkSize(name string, args []any) error {
	body, err := json.Marshal(args)
	if err != nil || len(body) <= MaxArguments {
		return nil // what cannot be written is the SDK's to report
	}
	return temporal.NewNonRetryableApplicationError(
		fmt.Sprintf("activity %s was not scheduled: its arguments are %d bytes, and %d are allowed", name, len(body), MaxArguments), ErrorTooLarge, nil)
}

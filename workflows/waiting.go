package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"
)

// teller tells a workflow's parent whom it waits for, one message after the
// other, so that the last one is right.
type teller struct {
	waiting func() []Approval
	version int // of what there is to tell
	told    int // approvals in the last message
}

// changed makes the teller speak, if there is or was something to say.
func (t *teller) changed() { t.version++ }

// serve tells the parent until ctx ends.
func (t *teller) serve(ctx workflow.Context, execution string) {
	parent := workflow.GetInfo(ctx).ParentWorkflowExecution
	if parent == nil {
		return
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for said := 0; ; {
			if workflow.Await(ctx, func() bool { return t.version != said }) != nil {
				return
			}
			said = t.version
			open := t.waiting()
			if len(open) == 0 && t.told == 0 {
				continue
			}
			t.told = len(open)
			_ = workflow.SignalExternalWorkflow(ctx, parent.ID, "", SignalWaiting, Waiting{Execution: execution, Approvals: open}).Get(ctx, nil)
		}
	})
}

// hear keeps what children say they wait for.
func hear(ctx workflow.Context, keep func(Waiting)) {
	options := workflow.SignalChannelOptions{Description: "Internal: a child says which calls wait for a person."}
	channel := workflow.GetSignalChannelWithOptions(ctx, SignalWaiting, options)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var w Waiting
			if !channel.Receive(ctx, &w) {
				return
			}
			keep(w)
		}
	})
}

// approvalList says in Markdown which calls wait, and how to decide them.
func approvalList(waiting []Approval) string {
	var b strings.Builder
	for _, a := range waiting {
		b.WriteString(fmt.Sprintf("\n**approve?** %s %s · risk %s · until %s · update `%s` of workflow `%s`, call_id `%s`\n",
			verbatim(a.Tool, 100), verbatim(a.Arguments, 300), a.Risk, a.Expires.UTC().Format(time.RFC3339), UpdateDecide, a.WorkflowID, a.CallID))
	}
	return b.String()
}

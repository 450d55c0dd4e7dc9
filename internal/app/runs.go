package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/internal/agent"
	inquest "github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

// runs provides the workflows in Temporal and their activities.
type runs struct {
	client client.Client
	data   converter.DataConverter // decrypts payloads
}

func (r runs) Open(ctx context.Context) (map[string]string, error) {
	open := map[string]string{}
	for info, err := range inquest.Executions(ctx, r.client, inquest.RunningOf(workflows.TypeInvestigation), listPage) {
		if err != nil {
			return nil, fmt.Errorf("list the running investigations: %w", err)
		}
		open[info.GetExecution().GetWorkflowId()] = info.GetExecution().GetRunId()
	}
	return open, nil
}

const listPage = 1000

// Ending implements activities.Runs. A workflow's last run says how it ended. If that run has another first run, the workflow ID
// was reused and the end is unknown.
func (r runs) Ending(ctx context.Context, workflowID, firstRunID string) (end record.Investigation, err error) {
	described, err := r.client.DescribeWorkflowExecution(ctx, workflowID, "")
	info := described.GetWorkflowExecutionInfo()
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	if first := info.GetFirstRunId(); gone || first != "" && first != firstRunID { // a server that returns no first run is trusted
		return end, record.ErrNotFound
	}
	if err != nil || info.GetCloseTime() == nil {
		return end, err
	}
	ended := info.GetCloseTime().AsTime()
	end.EndedAt = &ended
	const closing = enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT
	last, err := r.client.GetWorkflowHistory(ctx, workflowID, info.GetExecution().GetRunId(), false, closing).Next()
	if err != nil {
		return end, fmt.Errorf("read how %s ended: %w", workflowID, err)
	}
	if failure := last.GetWorkflowExecutionFailedEventAttributes().GetFailure(); failure != nil {
		converter.DecodeCommonFailureAttributes(r.data, failure)
	}
	end.Status, end.EndReason, end.Error = endingOf(last)
	return end, nil
}

// endingOf returns the end that a workflow could not record itself, from its last event.
func endingOf(e *historypb.HistoryEvent) (agent.Status, agent.EndReason, string) {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		by := e.GetWorkflowExecutionTerminatedEventAttributes()
		text := strings.TrimSuffix("terminated by "+agent.PersonOf(by.GetIdentity()), " by ")
		if by.GetReason() != "" {
			text += ": " + by.GetReason()
		}
		return agent.StatusTerminated, agent.EndTerminated, text
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		return agent.StatusTimedOut, agent.EndTimedOut, "the workflow exceeded a timeout that was set when it was started"
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		return agent.StatusCancelled, agent.EndCancelled, ""
	}
	text := e.GetWorkflowExecutionFailedEventAttributes().GetFailure().GetMessage()
	return agent.StatusFailed, agent.EndToolFailed, "the workflow ended and could not record its end: " + text
}

// CancelChildren implements activities.Runs. A reused workflow ID has children of several investigations. The prefix selects those
// of one.
func (r runs) CancelChildren(ctx context.Context, workflowID, run, prefix string, keep []string) error {
	var children []string
	query := fmt.Sprintf("ParentWorkflowId = %q AND ExecutionStatus = 'Running'", workflowID)
	for info, err := range inquest.Executions(ctx, r.client, query, 0) {
		if err != nil {
			return fmt.Errorf("list the children of %s: %w", workflowID, err)
		}
		child, own := info.GetExecution().GetWorkflowId(), run != "" && info.GetParentExecution().GetRunId() == run
		if !own && !slices.Contains(keep, child) && strings.HasPrefix(child, prefix+"/") {
			children = append(children, child)
		}
	}
	// A late attempt must not cancel children that a newer run has started under the same IDs. If this run is still the newest, no
	// child in the list is a newer run's.
	if run != "" && len(children) > 0 {
		now, err := r.client.DescribeWorkflowExecution(ctx, workflowID, "")
		if err != nil || now.GetWorkflowExecutionInfo().GetExecution().GetRunId() != run {
			return err
		}
	}
	for _, child := range children {
		err := r.client.CancelWorkflow(ctx, child, "")
		if _, ended := errors.AsType[*serviceerror.NotFound](err); err != nil && !ended {
			return fmt.Errorf("cancel the children of %s: %w", workflowID, err)
		}
	}
	return nil
}

// scheduleReconcile creates the Temporal Schedule that reconciles records. It leaves an existing schedule unchanged, because an
// operator may have edited or paused it.
func scheduleReconcile(ctx context.Context, opts WorkerOptions) {
	_, err := opts.Client.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:      workflows.ReconcileSchedule(opts.TaskQueue),
		Spec:    client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: opts.Reconcile}}},
		Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
		Action: &client.ScheduleWorkflowAction{
			ID: workflows.ReconcileSchedule(opts.TaskQueue), Workflow: workflows.TypeReconcile, TaskQueue: opts.TaskQueue,
			WorkflowTaskTimeout: workflows.WorkflowTaskTimeout,
		},
		CatchupWindow: time.Minute,
	})
	if err != nil && !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		opts.Logger.Warn("cannot create the schedule for reconciling: terminated investigations stay \"running\" in the store", "error", err)
	}
}

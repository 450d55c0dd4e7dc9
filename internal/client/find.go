package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// handle is an investigation or a conversation in Temporal.
type handle struct {
	system.Handle
	conn    sdk.Client
	current string // ID of the run that Temporal described; empty means the latest
	queue   string // its task queue
	status  enumspb.WorkflowExecutionStatus
}

// handle connects a handle that was found before to Temporal.
func (c *connection) handle(ctx context.Context, h system.Handle) (handle, error) {
	conn, err := c.temporal(ctx)
	return handle{Handle: h, conn: conn}, err
}

// Ask queries a workflow for its status, which requires a worker.
func (c *finder) Ask(ctx context.Context, h system.Handle, status any) error {
	found, err := c.handle(ctx, h)
	if err != nil {
		return err
	}
	return found.ask(ctx, queryTimeout, status)
}

func (h handle) ask(ctx context.Context, within time.Duration, status any) error {
	if h.conn == nil {
		return fmt.Errorf("%s: Temporal cannot be queried from here", h.ID())
	}
	err := query(ctx, within, h.conn, h.Workflow, h.current, status)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s is running, but %w: %w", h.ID(), system.ErrUnanswered, err)
	}
	return err
}

// askTwice queries like Ask. If there are workers, it tries a second time with a longer timeout, because a dead worker may still hold the
// workflow task.
func (c *finder) askTwice(ctx context.Context, h handle, status any) error {
	err := h.ask(ctx, queryTimeout, status)
	if !errors.Is(err, system.ErrUnanswered) || !unavailable(err) {
		return err
	}
	looking, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if workers, _ := pollers(looking, h.conn, h.queue); workers == 0 {
		return err
	}
	c.opts.Tell(fmt.Sprintf("%s is not responding; its worker may have crashed. Waiting up to %s for another one", h.ID(), callTimeout))
	return h.ask(ctx, callTimeout, status)
}

func query(ctx context.Context, within time.Duration, conn sdk.Client, workflowID, runID string, status any) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	value, err := conn.QueryWorkflow(ctx, workflowID, runID, workflows.QueryStatus)
	if err != nil {
		return fmt.Errorf("query %s of %s: %w", workflows.QueryStatus, workflowID, err)
	}
	return value.Get(status)
}

// EndedError wraps system.ErrEnded.
type EndedError struct {
	ID     string
	Status agent.Status // empty means unknown
}

func (e *EndedError) Error() string {
	if e.Status == "" {
		return fmt.Sprintf("investigation %s has ended", e.ID)
	}
	return fmt.Sprintf("investigation %s has ended (%s)", e.ID, e.Status)
}
func (e *EndedError) Unwrap() error { return system.ErrEnded }

// Find finds an investigation in Temporal by its ID or its workflow ID. It returns record.ErrNotFound if Temporal does not know it.
func (c *finder) Find(ctx context.Context, id string) (system.Handle, error) {
	h, err := c.find(ctx, id, workflows.TypeInvestigation)
	return h.Handle, err
}

// findRunning finds an investigation or a conversation that can still be steered.
func (c *finder) findRunning(ctx context.Context, id string) (handle, error) {
	h, err := c.find(ctx, id, workflows.TypeInvestigation, workflows.TypeConversation)
	if err == nil && !h.Open {
		return h, &EndedError{h.ID(), statusOf(h.status)}
	}
	return h, err
}

func (c *finder) find(ctx context.Context, id string, types ...string) (h handle, err error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return h, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if h, err = findExactly(ctx, conn, id, types...); errors.Is(err, record.ErrNotFound) {
		err = c.Meant(ctx, id, err)
	}
	return h, err
}

// findExactly finds a workflow by its own ID or by the ID of its investigation.
func findExactly(ctx context.Context, conn sdk.Client, id string, types ...string) (handle, error) {
	found, err := describe(ctx, conn, id, types...)
	workflowID, isID := workflows.WorkflowOf(id)
	if !errors.Is(err, record.ErrNotFound) || !isID {
		return handleOf(conn, found), err
	}
	found, err = describe(ctx, conn, workflowID, types...)
	h := handleOf(conn, found)
	if err == nil && h.ID() != id {
		return h, fmt.Errorf("%s: %w in Temporal: its workflow ID has been reused by %s", id, record.ErrNotFound, h.ID())
	}
	return h, err
}

// describe asks Temporal for the last workflow with an ID. The workflow must have one of the types.
func describe(ctx context.Context, conn sdk.Client, workflowID string, types ...string) (*workflowpb.WorkflowExecutionInfo, error) {
	found, err := conn.DescribeWorkflowExecution(ctx, workflowID, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return nil, fmt.Errorf("%s %s: %w in Temporal", strings.ToLower(types[0]), workflowID, record.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("ask Temporal for %s: %w", workflowID, err)
	}
	info := found.GetWorkflowExecutionInfo()
	if name := info.GetType().GetName(); !slices.Contains(types, name) {
		wanted := strings.Replace("a "+strings.ToLower(strings.Join(types, " or a ")), "a i", "an i", 1)
		return nil, &system.InputError{Err: fmt.Errorf("%s is a workflow of type %s, not %s", workflowID, name, wanted)}
	}
	return info, nil
}

func handleOf(conn sdk.Client, info *workflowpb.WorkflowExecutionInfo) handle {
	h := handle{
		Handle: system.Handle{
			Workflow: info.GetExecution().GetWorkflowId(), First: info.GetFirstRunId(),
			Open: info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
		},
		conn: conn, current: info.GetExecution().GetRunId(), queue: info.GetTaskQueue(), status: info.GetStatus(),
	}
	if h.First == "" { // older servers leave it empty
		h.First = h.current
	}
	return h
}

var statuses = map[enumspb.WorkflowExecutionStatus]agent.Status{
	enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:          agent.StatusRunning,
	enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW: agent.StatusRunning,
	enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:        agent.StatusCompleted,
	enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:         agent.StatusCancelled,
	enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:       agent.StatusTerminated,
	enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:        agent.StatusTimedOut,
}

// statusOf converts a workflow's status to the status of an investigation.
func statusOf(status enumspb.WorkflowExecutionStatus) agent.Status {
	return cmp.Or(statuses[status], agent.StatusFailed)
}

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
	"github.com/inquest-dev/inquest/workflows"
)

// Handle is an investigation or a conversation in Temporal.
type Handle struct {
	Workflow string // workflow ID
	First    string // ID of its first run
	// Known means that it existed before the attempt to start it.
	Known bool

	conn    sdk.Client
	current string // ID of the run that Temporal described
	queue   string // its task queue
	status  enumspb.WorkflowExecutionStatus
}

// HandleOf returns a handle made from an ID alone, for callers that query some other system than Temporal. Its Ask always fails.
func HandleOf(id string, running bool) Handle {
	h := Handle{Workflow: id, status: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED}
	if workflowID, whole := workflows.WorkflowOf(id); whole {
		h.Workflow, h.First = workflowID, strings.TrimPrefix(id, workflowID+":")
	}
	if running {
		h.status = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	}
	return h
}

// ID returns the investigation's ID, or the workflow's ID if the first run is unknown.
func (h Handle) ID() string {
	if h.First == "" {
		return h.Workflow
	}
	return workflows.InvestigationID(h.Workflow, h.First)
}

// Running reports whether the workflow was running when it was found.
func (h Handle) Running() bool { return h.status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING }

// Ask queries the workflow for its status, which requires a worker.
func (h Handle) Ask(ctx context.Context, status any) error { return h.ask(ctx, queryTimeout, status) }

func (h Handle) ask(ctx context.Context, within time.Duration, status any) error {
	if h.conn == nil {
		return fmt.Errorf("%s: Temporal is not asked from here", h.ID())
	}
	err := query(ctx, within, h.conn, h.Workflow, h.current, status)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s is running, but %w: %w", h.ID(), ErrUnanswered, err)
	}
	return err
}

// hear queries like Ask. If there are workers, it tries a second time with a longer timeout, because a dead worker may still hold the
// workflow task.
func (c *Client) hear(ctx context.Context, h Handle, status any) error {
	err := h.Ask(ctx, status)
	if !errors.Is(err, ErrUnanswered) || !unavailable(err) {
		return err
	}
	looking, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if workers, _ := pollers(looking, h.conn, h.queue); workers == 0 {
		return err
	}
	c.opts.Tell(fmt.Sprintf("%s is not responding; its worker may have crashed. Waiting up to %s for another one", h.ID(), CallTimeout))
	return h.ask(ctx, CallTimeout, status)
}

// ErrUnanswered means that a workflow cannot be queried for its status.
var ErrUnanswered = errors.New("no worker is responding")

func query(ctx context.Context, within time.Duration, conn sdk.Client, workflowID, runID string, status any) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	value, err := conn.QueryWorkflow(ctx, workflowID, runID, workflows.QueryStatus)
	if err != nil {
		return fmt.Errorf("query %s of %s: %w", workflows.QueryStatus, workflowID, err)
	}
	return value.Get(status)
}

// ErrEnded means that an ended workflow cannot be steered.
var ErrEnded = errors.New("it has ended")

// EndedError wraps ErrEnded.
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
func (e *EndedError) Unwrap() error { return ErrEnded }

// Find finds an investigation in Temporal by its ID or its workflow ID. It returns record.ErrNotFound if Temporal does not know it.
func (c *Client) Find(ctx context.Context, id string) (Handle, error) {
	return c.find(ctx, id, workflows.TypeInvestigation)
}

// findRunning finds an investigation or a conversation that can still be steered.
func (c *Client) findRunning(ctx context.Context, id string) (Handle, error) {
	h, err := c.find(ctx, id, workflows.TypeInvestigation, workflows.TypeConversation)
	if err == nil && !h.Running() {
		return h, &EndedError{h.ID(), statusOf(h.status)}
	}
	return h, err
}

func (c *Client) find(ctx context.Context, id string, types ...string) (h Handle, err error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return h, err
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	if h, err = findExactly(ctx, conn, id, types...); errors.Is(err, record.ErrNotFound) {
		err = c.Meant(ctx, id, err)
	}
	return h, err
}

// findExactly finds a workflow by its own ID or by the ID of its investigation.
func findExactly(ctx context.Context, conn sdk.Client, id string, types ...string) (Handle, error) {
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
		return nil, &InputError{fmt.Errorf("%s is a workflow of type %s, not %s", workflowID, name, wanted)}
	}
	return info, nil
}

func handleOf(conn sdk.Client, info *workflowpb.WorkflowExecutionInfo) Handle {
	h := Handle{
		Workflow: info.GetExecution().GetWorkflowId(), First: info.GetFirstRunId(),
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

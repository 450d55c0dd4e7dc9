package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
)

const (
	patience = 10 * time.Second // after this, tell people that no worker is active
	// pauseBetween is the pause between attempts to reach Temporal.
	pauseBetween = 5 * time.Second
)

// Await waits for the end of an investigation, as long as it takes. An investigation that did not complete is not an error: the Status
// shows it.
func (c *reader) Await(ctx context.Context, found system.Handle) (out system.Result, err error) {
	h, err := c.handle(ctx, found)
	if err != nil {
		return out, err
	}
	silence := time.AfterFunc(patience, func() { c.explainSilence(ctx, h) })
	defer silence.Stop()
	err = c.persist(ctx, pauseBetween, func() error {
		out, err = h.result(ctx)
		return err
	})
	return out, err
}

// unavailable reports whether Temporal could not be reached, which may be temporary. The SDK has already retried for a minute.
func unavailable(err error) bool {
	_, away := errors.AsType[*serviceerror.Unavailable](err)
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	return away || late
}

func (h handle) result(ctx context.Context) (out system.Result, err error) {
	err = h.conn.GetWorkflow(ctx, h.Workflow, h.First).Get(ctx, &out)
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if err != nil {
		out, err = ended(err)
	}
	if err != nil {
		return out, fmt.Errorf("wait for %s: %w", h.ID(), err)
	}
	out.ID = h.ID()
	return out, nil
}

// ended reads the result of an investigation that did not complete. The result is in the details of the error, unless the investigation
// was ended by force.
func ended(err error) (out system.Result, _ error) {
	closed, _ := errors.AsType[*temporal.WorkflowExecutionError](err)
	if closed == nil {
		return out, err
	}
	failed, _ := errors.AsType[*temporal.ApplicationError](err)
	cancelled, _ := errors.AsType[*temporal.CanceledError](err)
	timeout, _ := errors.AsType[*temporal.TimeoutError](err)
	terminated, _ := errors.AsType[*temporal.TerminatedError](err)
	switch {
	case failed != nil:
		if !failed.HasDetails() || failed.Details(&out) != nil || out.ID == "" {
			out = system.Result{Status: agent.StatusFailed, Error: failed.Message()}
		}
		if failed.Type() == activities.ErrorInvalidRequest {
			out.Status = agent.StatusRefused
		}
	case cancelled != nil:
		if !cancelled.HasDetails() || cancelled.Details(&out) != nil || out.ID == "" {
			out = system.Result{Status: agent.StatusCancelled}
		}
	case timeout != nil:
		out = system.Result{Status: agent.StatusTimedOut, Error: timeout.Error()}
	case terminated != nil:
		out = system.Result{Status: agent.StatusTerminated, Error: terminated.Error()}
	default:
		out = system.Result{Status: agent.StatusFailed, Error: closed.Unwrap().Error()}
	}
	return out, nil
}

// notBegun is the history length before a worker takes the first task.
const notBegun = 2

// explainSilence tells people why nothing has begun.
func (c *reader) explainSilence(ctx context.Context, h handle) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := h.conn.DescribeWorkflowExecution(ctx, h.Workflow, h.current)
	if err != nil || found.GetWorkflowExecutionInfo().GetHistoryLength() > notBegun {
		return
	}
	queue := found.GetExecutionConfig().GetTaskQueue().GetName()
	if !c.explainQueue(ctx, h.conn, queue) {
		c.opts.Tell(fmt.Sprintf("waiting for a worker to pick up the investigation from task queue %s", queue))
	}
}

// explainQueue tells people if there is no worker, and reports whether that is so.
func (c *reader) explainQueue(ctx context.Context, conn sdk.Client, queue string) bool {
	workers, err := pollers(ctx, conn, queue)
	if err != nil || workers > 0 {
		return false
	}
	c.opts.Tell(fmt.Sprintf("waiting: no worker polls task queue %s", queue))
	return true
}

// pollers returns the number of workers that polled a task queue recently.
func pollers(ctx context.Context, conn sdk.Client, queue string) (int, error) {
	described, err := conn.DescribeTaskQueue(ctx, queue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	return len(described.GetPollers()), err
}

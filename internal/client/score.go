package client

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

// ScoringError means that an investigation is being judged already.
type ScoringError struct{ ID string }

func (e *ScoringError) Error() string {
	return fmt.Sprintf("investigation %s is already being scored, by workflow %s", e.ID, workflows.ScoringID(e.ID))
}

// Score starts judging an ended investigation. Pass the result to Wait. If the investigation is being judged already, the error is a
// *ScoringError.
func (c *Client) Score(ctx context.Context, id, by string) (j Judging, err error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return j, err
	}
	if j.ID, err = c.ended(ctx, id); err != nil {
		return j, err
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	j.run, err = conn.ExecuteWorkflow(ctx, sdk.StartWorkflowOptions{
		ID:                                       workflows.ScoringID(j.ID),
		TaskQueue:                                c.opts.TaskQueue,
		WorkflowTaskTimeout:                      workflows.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            "score",
	}, workflows.TypeScoring, workflows.ScoringInput{Investigation: j.ID, By: by})
	if _, taken := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); taken {
		return j, &ScoringError{j.ID}
	}
	if err != nil {
		return j, fmt.Errorf("have %s judged: %w", j.ID, err)
	}
	return j, nil
}

// ended returns the ID of an ended investigation, even if Temporal no longer knows it.
func (c *Client) ended(ctx context.Context, id string) (string, error) {
	h, err := c.Find(ctx, id)
	if err == nil && h.Running() {
		return "", &InputError{fmt.Errorf("investigation %s has not ended: only ended investigations can be scored", h.ID())}
	}
	if err == nil || !errors.Is(err, record.ErrNotFound) {
		return h.ID(), err
	}
	st, storeErr := c.Store(ctx)
	if storeErr != nil || st == nil {
		return "", errors.Join(err, storeErr)
	}
	r, storeErr := st.FindInvestigation(ctx, id)
	if storeErr != nil {
		return "", err
	}
	return r.ID, nil
}

// Judging is an investigation that is being judged.
type Judging struct {
	ID string // the investigation's ID
	// Before is the previous number of scores, for callers that do not ask Temporal for the new one.
	Before int
	run    sdk.WorkflowRun
}

// Wait waits for the score. A judge that reached no score is not an error: the Status shows it.
func (c *Client) Wait(ctx context.Context, j Judging) (out record.Score, err error) {
	err = c.persist(ctx, pauseBetween, func() error { return j.run.Get(ctx, &out) })
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	failed, _ := errors.AsType[*temporal.ApplicationError](err)
	cancelled, _ := errors.AsType[*temporal.CanceledError](err)
	switch {
	case failed != nil && failed.Type() == activities.ErrorInvalidRequest:
		return out, &InputError{errors.New(failed.Message())}
	case failed != nil && failed.HasDetails() && failed.Details(&out) == nil && out.N > 0,
		cancelled != nil && cancelled.HasDetails() && cancelled.Details(&out) == nil && out.N > 0:
		return out, nil
	case err != nil:
		return out, fmt.Errorf("wait for the score of %s: %w", j.ID, err)
	}
	return out, nil
}

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
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// Score starts judging an ended investigation. Pass the result to Wait. If the investigation is being judged already, the error is a
// *ScoringError.
func (c *Client) Score(ctx context.Context, id, by string) (j system.Judging, err error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return j, err
	}
	if j.ID, err = c.ended(ctx, id); err != nil {
		return j, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	run, err := conn.ExecuteWorkflow(ctx, sdk.StartWorkflowOptions{
		ID:                                       workflows.ScoringID(j.ID),
		TaskQueue:                                c.opts.TaskQueue,
		WorkflowTaskTimeout:                      workflows.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            "score",
	}, workflows.TypeScoring, workflows.ScoringInput{Investigation: j.ID, By: by})
	if _, taken := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); taken {
		return j, &system.ScoringError{ID: j.ID}
	}
	if err != nil {
		return j, fmt.Errorf("request the score of %s: %w", j.ID, err)
	}
	j.Run = run.GetRunID()
	return j, nil
}

// ended returns the ID of an ended investigation, even if Temporal no longer knows it.
func (c *Client) ended(ctx context.Context, id string) (string, error) {
	h, err := c.Find(ctx, id)
	if err == nil && h.Open {
		return "", &system.InputError{Err: fmt.Errorf("investigation %s has not ended: only ended investigations can be scored", h.ID())}
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

// Wait waits for the score. A judge that reached no score is not an error: the Status shows it.
func (c *Client) Wait(ctx context.Context, j system.Judging) (out record.Score, err error) {
	conn, err := c.temporal(ctx)
	if err != nil {
		return out, err
	}
	run := conn.GetWorkflow(ctx, workflows.ScoringID(j.ID), j.Run)
	err = c.persist(ctx, pauseBetween, func() error { return run.Get(ctx, &out) })
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	failed, _ := errors.AsType[*temporal.ApplicationError](err)
	cancelled, _ := errors.AsType[*temporal.CanceledError](err)
	switch {
	case failed != nil && failed.Type() == activities.ErrorInvalidRequest:
		return out, &system.InputError{Err: errors.New(failed.Message())}
	case failed != nil && failed.HasDetails() && failed.Details(&out) == nil && out.N > 0,
		cancelled != nil && cancelled.HasDetails() && cancelled.Details(&out) == nil && out.N > 0:
		return out, nil
	case err != nil:
		return out, fmt.Errorf("wait for the score of %s: %w", j.ID, err)
	}
	return out, nil
}

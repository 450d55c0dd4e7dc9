package main

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

// outcome is how an investigation ended.
type outcome struct{ workflows.InvestigationResult }

// await waits until Temporal says that the investigation has ended.
func (t target) await(ctx context.Context) (outcome, error) {
	var out outcome
	err := t.client.GetWorkflow(ctx, t.workflow, t.first).Get(ctx, &out.InvestigationResult)
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if err != nil {
		out, err = ended(err)
	}
	if err != nil {
		return out, fmt.Errorf("wait for %s: %w", t.id(), err)
	}
	out.ID = t.id()
	return out, nil
}

// ended reads the result of an investigation that did not complete: it is in the
// details of the error, unless the investigation had no chance to say anything.
func ended(err error) (outcome, error) {
	var out outcome
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
		if !failed.HasDetails() || failed.Details(&out.InvestigationResult) != nil || out.ID == "" {
			out.InvestigationResult = bare(agent.StatusFailed, failed.Message())
		}
		if failed.Type() == activities.ErrorInvalidRequest {
			out.Status = agent.StatusRefused
		}
	case cancelled != nil:
		if !cancelled.HasDetails() || cancelled.Details(&out.InvestigationResult) != nil || out.ID == "" {
			out.InvestigationResult = bare(agent.StatusCancelled, "")
		}
	case timeout != nil:
		out.InvestigationResult = bare(agent.StatusTimedOut, timeout.Error())
	case terminated != nil:
		out.InvestigationResult = bare(agent.StatusTerminated, terminated.Error())
	default:
		out.InvestigationResult = bare(agent.StatusFailed, closed.Unwrap().Error())
	}
	return out, nil
}

func bare(status agent.Status, message string) workflows.InvestigationResult {
	return workflows.InvestigationResult{Status: status, Error: message}
}

// verdict is the error of an investigation that did not complete.
func (o outcome) verdict() error {
	switch {
	case o.Status == agent.StatusCompleted:
		return nil
	case o.Status == agent.StatusRefused:
		return usagef("the request was refused: %s", o.Error)
	case o.Error == "":
		return fmt.Errorf("investigation %s: %s", o.ID, o.Status)
	}
	return fmt.Errorf("investigation %s: %s: %s", o.ID, o.Status, o.Error)
}

// fetchReport reads a report that was too large for the result.
func (c *cli) fetchReport(ctx context.Context, o *outcome) error {
	if o.Report != "" || o.ReportRef == "" {
		return nil
	}
	return c.withStore(ctx, func(st *store.Store) error {
		if st == nil {
			c.say("the report is larger than %d KB and only in the store, which is not here (--store)", activities.MaxInlineReport>>10)
			return nil
		}
		report, err := st.Blob(ctx, o.ReportRef)
		if errors.Is(err, record.ErrNotFound) {
			c.say("the report is larger than %d KB and not in this store: the workers use another one (--store)", activities.MaxInlineReport>>10)
			return nil
		}
		o.Report = string(report)
		return err
	})
}

// awaitJSON waits for the end and prints nothing but the result.
func (c *cli) awaitJSON(ctx context.Context, t target) error {
	out, err := c.patiently(ctx, t)
	if err != nil {
		return err
	}
	if err := c.fetchReport(ctx, &out); err != nil {
		return err
	}
	return errors.Join(c.printJSON(out.InvestigationResult), out.verdict())
}

// record is the outcome as a record, for printing.
func (o outcome) record() record.Investigation {
	return record.Investigation{
		ID: o.ID, Status: o.Status, EndReason: o.EndReason, Error: o.Error, Report: o.Report, Usage: o.Usage,
		Envelope: record.Envelope{Undelivered: o.Undelivered},
	}
}

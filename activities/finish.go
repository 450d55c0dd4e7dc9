package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// SaveStage records how a stage and its executions ended, and returns what steers the chain.
func (a *Activities) SaveStage(ctx context.Context, in SaveStageIn) (SaveStageOut, error) {
	ctx, stop := a.attend(ctx)
	defer stop()
	out, err := a.saveStage(ctx, in)
	return out, storeFailure(ended(ctx, err))
}

func (a *Activities) saveStage(ctx context.Context, in SaveStageIn) (SaveStageOut, error) {
	if err := a.require(ctx, in.Stage.Investigation, in.Seen); err != nil {
		return SaveStageOut{}, err
	}
	var executions []record.Execution
	for _, summary := range in.Executions {
		summary.Ref.Seen = in.Seen
		execution, err := a.execution(ctx, summary, in.Stage)
		if err != nil {
			return SaveStageOut{}, err
		}
		executions = append(executions, execution)
		if a.Sessions != nil {
			a.Sessions.End(summary.Ref.session())
		}
	}
	out, err := a.outputOf(ctx, in)
	if err != nil {
		return out, err
	}
	if out.Review, err = a.reviewOf(ctx, in); err != nil {
		return out, err
	}
	stage := &in.Stage
	stage.Envelope.Output = out.Output
	if out.Outcome != "" && stage.Status == agent.StatusCompleted {
		stage.Outcome = out.Outcome
	}
	if stage.Outcome == agent.OutcomeError {
		_ = json.Unmarshal(out.Fields[fieldMessage], &stage.Envelope.Message)
	}
	// The envelope records the current state, in case the investigation never finishes.
	if err := a.maskEnvelope(ctx, in.Plan, &in.Envelope); err != nil {
		return out, err
	}
	if err := a.Records.SaveStage(ctx, in.Stage, executions, &in.Envelope); err != nil {
		return out, fmt.Errorf("record stage %s: %w", in.Stage.Name, err)
	}
	return out, nil
}

// maskEnvelope masks what people wrote, which Temporal delivers unmasked.
func (a *Activities) maskEnvelope(ctx context.Context, hash string, e *record.Envelope) error {
	if len(e.Answers)+len(e.Undelivered) == 0 {
		return nil
	}
	if hash == "" { // it ended before there was a plan with masking settings
		e.Undelivered = []string{fmt.Sprintf("%d signals that came before the chain was resolved", len(e.Undelivered))}
		return nil
	}
	plan, err := a.plan(ctx, hash)
	if err != nil {
		return err
	}
	e.Answers, e.Undelivered = slices.Clone(e.Answers), slices.Clone(e.Undelivered)
	for n := range e.Answers {
		if e.Answers[n].Answer, err = a.maskData(ctx, plan, requestData, e.Answers[n].Answer); err != nil {
			return err
		}
	}
	for n := range e.Undelivered {
		if e.Undelivered[n], err = a.maskData(ctx, plan, requestData, e.Undelivered[n]); err != nil {
			return err
		}
	}
	return nil
}

// execution completes the workflow's summary of an execution from the plan and the transcript, in particular with the
// model that actually answered.
func (a *Activities) execution(ctx context.Context, s ExecutionSummary, stage record.Stage) (record.Execution, error) {
	j, err := a.job(ctx, s.Ref)
	if err != nil {
		return record.Execution{}, err
	}
	entries, err := a.Transcripts.Entries(ctx, s.Ref.scope())
	if err != nil {
		return record.Execution{}, fmt.Errorf("read transcript of %s: %w", s.Ref.Execution, err)
	}
	out := j.execution(j.provider(0))
	out.StartedAt, out.EndedAt = stage.StartedAt, stage.EndedAt
	if !s.Started.IsZero() {
		out.StartedAt, out.EndedAt = s.Started, &s.Ended
	}
	out.Status, out.StopReason, out.Forced = s.Status, s.StopReason, s.Forced
	out.Iterations, out.Usage, out.Error = s.Iterations, s.Usage, s.Error
	for _, e := range entries {
		if e.Kind == transcript.KindReply {
			out.Provider, out.Model = e.Provider, e.Model
			out.ActionsExecuted = e.ActionsExecuted
		}
	}
	return out, nil
}

// SaveStatus records the status and the open waits of an investigation.
func (a *Activities) SaveStatus(ctx context.Context, in SaveStatusIn) error {
	ctx, stop := a.attend(ctx)
	defer stop()
	run := activity.GetInfo(ctx).WorkflowExecution
	waits, err := a.maskedWaits(ctx, in.Plan, in.Waits)
	if err == nil {
		err = a.Records.SetWaiting(ctx, record.Waiting{
			Investigation: in.Investigation, WorkflowID: run.ID, RunID: run.RunID, Seq: in.Seq, Status: in.Status, Waits: waits,
		})
	}
	if err == nil {
		err = a.keepActs(ctx, in.Plan, in.Acts)
	}
	return storeFailure(ended(ctx, err))
}

// Finish closes the investigation's record. The report is the result of the last stage that has one, however the
// investigation ended.
func (a *Activities) Finish(ctx context.Context, in FinishIn) (FinishOut, error) {
	ctx, stop := a.attend(ctx)
	defer stop()
	out, err := a.finish(ctx, in)
	return out, storeFailure(ended(ctx, err))
}

func (a *Activities) finish(ctx context.Context, in FinishIn) (FinishOut, error) {
	err := a.require(ctx, in.Investigation, in.Seen)
	behind, isBehind := behindWhy(err)
	if err != nil && !isBehind {
		return FinishOut{}, err
	}
	if isBehind {
		_, err = a.requirePlan(ctx, in.Investigation, in.Plan, in.Seen)
		if _, lost := behindWhy(err); lost { // nothing written since the plan is there
			in.Plan, in.Results, in.Summary = "", nil, ""
		}
	}
	checked, err := a.report(ctx, in)
	if err != nil {
		return FinishOut{}, err
	}
	unread, err := a.undelivered(ctx, in.Investigation)
	if err != nil {
		return FinishOut{}, err
	}
	in.Envelope.Undelivered = append(in.Envelope.Undelivered, unread...)
	if in.Summary != "" {
		text, err := a.resultText(ctx, in.Investigation, in.Summary)
		if err != nil {
			return FinishOut{}, err
		}
		if in.Envelope.Summary, err = a.marked(ctx, in, summaryLines(text)); err != nil {
			return FinishOut{}, err
		}
	}
	in.Envelope.Evidence = checked.evidence
	if err := a.maskEnvelope(ctx, in.Plan, &in.Envelope); err != nil {
		return FinishOut{}, err
	}
	for _, stage := range in.Unsaved {
		if err := a.Records.SaveStage(ctx, stage, nil, nil); err != nil {
			return FinishOut{}, fmt.Errorf("record stage %s: %w", stage.Name, err)
		}
	}
	report := checked.text
	out := FinishOut{Undelivered: unread, Summary: in.Envelope.Summary, Proof: checked.failed}
	if isBehind && in.Status == agent.StatusCompleted { // the report may be from an earlier stage
		in.Status, in.EndReason, in.Error = agent.StatusFailed, agent.EndStoreBehind, behind
		out.Failed, out.Error = in.EndReason, in.Error
	}
	if report == "" && owesReport(in) {
		if in.Status, in.Error = agent.StatusFailed, cmp.Or(in.Error, noReport); in.EndReason == agent.EndCompleted {
			in.EndReason = agent.EndNoReport
		}
		out.Failed, out.Error = in.EndReason, in.Error
	}
	if err := a.keepActs(ctx, in.Plan, in.Acts); err != nil {
		return FinishOut{}, err
	}
	now, run := a.now(ctx), activity.GetInfo(ctx).WorkflowExecution
	err = a.Records.FinishInvestigation(ctx, record.Investigation{
		ID: in.Investigation, Status: in.Status, EndReason: in.EndReason, Error: in.Error,
		Report: report, Usage: in.Usage, Envelope: in.Envelope, EndedAt: &now, Writer: run.RunID,
		WorkflowID: run.ID, RunID: run.RunID, StartedAt: now, // for an investigation that ended before it was resolved
	})
	if err != nil {
		return FinishOut{}, fmt.Errorf("record investigation %s: %w", in.Investigation, err)
	}
	count(ctx, metricEnded, "status", string(in.Status))
	a.makeRoom(ctx, in.Investigation)
	stored, err := a.Records.Investigation(ctx, in.Investigation)
	if err != nil {
		return FinishOut{}, err
	}
	out.Usage = stored.Usage
	if out.Report = report; len(report) > MaxInlineReport {
		out.Report = ""
		out.ReportRef, err = a.Blobs.PutBlob(ctx, []byte(report))
	}
	return out, err
}

// A summary has 1–4 lines (spec: pipeline, "Around the result"), whatever the model returns.
const (
	maxSummaryLines = 4
	maxSummaryLine  = 500 // characters
)

func summaryLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && len(lines) < maxSummaryLines {
			lines = append(lines, clip.Line(line, maxSummaryLine))
		}
	}
	return strings.Join(lines, "\n")
}

const noReport = "there is no report: no agent produced any text"

// owesReport reports whether an investigation must have a report: it has completed, and people did not end it at a
// question.
func owesReport(in FinishIn) bool {
	return in.Status == agent.StatusCompleted && in.EndReason != agent.EndDenied && in.EndReason != agent.EndInterruptExpired
}

// report returns the final text of the last stage that has one.
func (a *Activities) report(ctx context.Context, in FinishIn) (checkedReport, error) {
	for i := len(in.Results) - 1; i >= 0; i-- {
		execution := in.Results[i].Execution
		entries, err := a.Transcripts.Entries(ctx, transcript.Scope{Investigation: in.Investigation, Execution: execution})
		if err != nil {
			return checkedReport{}, fmt.Errorf("read transcript of %s: %w", execution, err)
		}
		if text := transcript.Final(entries, true); text != "" {
			out, err := a.checked(ctx, in, execution, text)
			out.text = outside(in.Outside[execution]) + incomplete(text, entries) + out.text
			return out, err
		}
	}
	return checkedReport{}, nil
}

// outside returns the first line of a report that does not meet its agent's contract, or an empty string if it does.
func outside(why string) string {
	if why == "" {
		return ""
	}
	return fmt.Sprintf("**The agent's output does not meet its contract: %s. It is shown unchanged.**\n\n", why)
}

// incomplete returns the first line of a report that is incomplete; an empty string means that it is complete.
func incomplete(text string, entries []transcript.Entry) string {
	why, last := "", true
	for _, e := range slices.Backward(entries) {
		if e.Kind != transcript.KindReply || e.Superseded {
			continue
		}
		if last && blank(e) {
			why = cmp.Or(notWhole(e), EarlierStands)
			break
		}
		if last = false; e.Text == text {
			why = notWhole(e)
			break
		}
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("**This report is incomplete: %s.**\n\n", why)
}

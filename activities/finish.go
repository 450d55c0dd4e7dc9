package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/markdown"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// SaveStage records how a stage and its executions ended, and returns what steers the chain.
func (a *Activities) SaveStage(ctx context.Context, in SaveStageIn) (SaveStageOut, error) {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	out, err := recorder{a.worker()}.saveStage(ctx, in)
	return out, job.StoreFailure(job.Ended(ctx, err))
}

func (a recorder) saveStage(ctx context.Context, in SaveStageIn) (SaveStageOut, error) {
	if err := a.Require(ctx, in.Stage.Investigation, in.Seen); err != nil {
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
			a.Sessions.End(summary.Ref.Session())
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
	stage.Envelope.Output, stage.Requires = out.Output, in.Seen
	if out.Outcome != "" && stage.Status == agent.StatusCompleted {
		stage.Outcome = out.Outcome
	}
	if stage.Outcome == agent.OutcomeError {
		_ = json.Unmarshal(out.Fields[job.FieldMessage], &stage.Envelope.Message)
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

// recorder keeps the records of investigations.
type recorder struct{ *job.Worker }

// maskEnvelope masks what people wrote, which Temporal delivers unmasked.
func (a recorder) maskEnvelope(ctx context.Context, hash string, e *record.Envelope) error {
	if len(e.Answers)+len(e.Undelivered) == 0 {
		return nil
	}
	if hash == "" { // it ended before there was a plan with masking settings
		e.Undelivered = []string{fmt.Sprintf("signals that arrived before the chain was resolved: %d", len(e.Undelivered))}
		return nil
	}
	plan, err := a.ReadPlan(ctx, hash)
	if err != nil {
		return err
	}
	e.Answers, e.Undelivered = slices.Clone(e.Answers), slices.Clone(e.Undelivered)
	for n := range e.Answers {
		if e.Answers[n].Answer, err = a.MaskData(ctx, plan, job.RequestData, e.Answers[n].Answer); err != nil {
			return err
		}
	}
	for n := range e.Undelivered {
		if e.Undelivered[n], err = a.MaskData(ctx, plan, job.RequestData, e.Undelivered[n]); err != nil {
			return err
		}
	}
	return nil
}

// execution completes the workflow's summary of an execution from the plan and the transcript, in particular with the
// model that actually answered.
func (a recorder) execution(ctx context.Context, s ExecutionSummary, stage record.Stage) (record.Execution, error) {
	j, err := a.Job(ctx, s.Ref)
	if err != nil {
		return record.Execution{}, err
	}
	entries, err := a.Transcripts.Entries(ctx, s.Ref.Scope())
	if err != nil {
		return record.Execution{}, fmt.Errorf("read transcript of %s: %w", s.Ref.Execution, err)
	}
	out := j.Execution(j.Provider(0))
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
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	run := activity.GetInfo(ctx).WorkflowExecution
	waits, err := recorder{a.worker()}.maskedWaits(ctx, in.Plan, in.Waits)
	if err == nil {
		err = a.Records.SetWaiting(ctx, record.Waiting{
			Investigation: in.Investigation, WorkflowID: run.ID, RunID: run.RunID, Seq: in.Seq, Status: in.Status, Waits: waits,
		})
	}
	if err == nil {
		err = recorder{a.worker()}.keepActs(ctx, in.Plan, in.Acts)
	}
	return job.StoreFailure(job.Ended(ctx, err))
}

// Finish closes the investigation's record. The report is the result of the last stage that has one, however the
// investigation ended.
func (a *Activities) Finish(ctx context.Context, in FinishIn) (FinishOut, error) {
	ctx, stop := a.worker().Attend(ctx)
	defer stop()
	out, err := recorder{a.worker()}.finish(ctx, in)
	if _, lost := errors.AsType[*transcript.BehindError](err); lost { // since the check at the beginning, which now fails
		out, err = recorder{a.worker()}.finish(ctx, in)
	}
	return out, job.StoreFailure(job.Ended(ctx, err))
}

func (a recorder) finish(ctx context.Context, in FinishIn) (FinishOut, error) {
	err := a.Require(ctx, in.Investigation, in.Seen)
	behind, isBehind := behindWhy(err)
	if err != nil && !isBehind {
		return FinishOut{}, err
	}
	requires := in.Seen
	if isBehind {
		requires = nil
		_, err = a.RequirePlan(ctx, in.Investigation, in.Plan, in.Seen)
		if _, lost := behindWhy(err); lost { // the store has lost everything written since the plan
			in.Plan, in.Results, in.Summary = "", nil, ""
		}
	}
	if err := a.addCoverage(ctx, in.Investigation, &in.Envelope); err != nil {
		return FinishOut{}, err
	}
	checked, err := a.report(ctx, in)
	if err != nil {
		return FinishOut{}, err
	}
	report := checked.text
	var out FinishOut
	if isBehind && in.Status == agent.StatusCompleted { // the report may be from an earlier stage
		in.Status, in.EndReason, in.Error = agent.StatusFailed, agent.EndStoreBehind, behind
		out.Failed, out.Error = in.EndReason, in.Error
	}
	if report == "" && owesReport(in) {
		in.Status, in.Error = agent.StatusFailed, cmp.Or(in.Error, noReport)
		if in.EndReason == agent.EndCompleted || in.EndReason == agent.EndPartial {
			in.EndReason = agent.EndNoReport
		}
		out.Failed, out.Error = in.EndReason, in.Error
	}
	if out.Undelivered, err = a.completeEnvelope(ctx, &in, checked); err != nil {
		return FinishOut{}, err
	}
	if fork := in.Envelope.Fork; fork != nil && fork.Coverage != nil {
		out.NotChecked = in.Envelope.NotChecked
	}
	out.Summary, out.Proof, out.NoToolResult = in.Envelope.Summary, checked.failed, in.Envelope.NoToolResult
	for _, stage := range in.Unsaved {
		if err := a.Records.SaveStage(ctx, stage, nil, nil); err != nil {
			return FinishOut{}, fmt.Errorf("record stage %s: %w", stage.Name, err)
		}
	}
	if err := a.keepActs(ctx, in.Plan, in.Acts); err != nil {
		return FinishOut{}, err
	}
	now, run := a.Now(ctx), activity.GetInfo(ctx).WorkflowExecution
	err = a.Records.FinishInvestigation(ctx, record.Investigation{
		ID: in.Investigation, Status: in.Status, EndReason: in.EndReason, Error: in.Error,
		Report: report, Usage: in.Usage, Envelope: in.Envelope, EndedAt: &now, Writer: run.RunID,
		WorkflowID: run.ID, RunID: run.RunID, StartedAt: now, // for an investigation that ended before it was resolved
		Requires: requires,
	})
	if err != nil {
		return FinishOut{}, fmt.Errorf("record investigation %s: %w", in.Investigation, err)
	}
	job.Count(ctx, job.MetricEnded, "status", string(in.Status))
	alertIntake(a).makeRoom(ctx, in.Investigation)
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

// completeEnvelope adds what only the store knows, and masks the envelope. It returns the unread messages.
func (a recorder) completeEnvelope(ctx context.Context, in *FinishIn, checked checkedReport) (unread []string, err error) {
	if unread, err = a.undelivered(ctx, in.Investigation); err != nil {
		return nil, err
	}
	in.Envelope.Undelivered = append(in.Envelope.Undelivered, unread...)
	in.Envelope.Evidence = checked.evidence
	if in.Envelope.NoToolResult, err = a.restsOnNothing(ctx, *in, checked.text); err != nil {
		return nil, err
	}
	var text string
	if in.Summary != "" {
		if text, err = a.ResultText(ctx, in.Investigation, in.Summary); err != nil {
			return nil, err
		}
	}
	if in.Envelope.Check, text, err = a.verdict(ctx, *in, checked.text, text); err != nil {
		return nil, err
	}
	if in.Envelope.Check == nil {
		text = summaryLines(text)
	}
	if in.Envelope.Summary, err = a.marked(ctx, *in, text); err != nil {
		return nil, err
	}
	return unread, a.maskEnvelope(ctx, in.Plan, &in.Envelope)
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
func (a recorder) report(ctx context.Context, in FinishIn) (checkedReport, error) {
	for i := len(in.Results) - 1; i >= 0; i-- {
		execution := in.Results[i].Execution
		entries, err := a.Transcripts.Entries(ctx, transcript.Scope{Investigation: in.Investigation, Execution: execution})
		if err != nil {
			return checkedReport{}, fmt.Errorf("read transcript of %s: %w", execution, err)
		}
		if text := transcript.Final(entries, true); text != "" {
			out, err := a.checked(ctx, in, execution, text)
			out.text = notChecked(in.Envelope, text) + outside(in.Outside[execution]) + incomplete(text, entries) + out.text
			return out, err
		}
	}
	return checkedReport{}, nil
}

// notChecked returns the first paragraph of a report by agents that did not have all their tool servers. It is empty if they
// had, or if the report is a JSON object, whose readers parse it.
func notChecked(e record.Envelope, report string) string {
	if markdown.Readable(report) != report {
		return ""
	}
	return e.NotCheckedParagraph()
}

// restsOnNothing reports whether no call of a tool has succeeded for a report to rest on. Hooks that prepare the input of agents,
// functions and services that replace agents, and tools that a provider runs itself may have found something all the same.
func (a recorder) restsOnNothing(ctx context.Context, in FinishIn, report string) (bool, error) {
	if report == "" || in.Plan == "" {
		return false, nil
	}
	p, err := a.ReadPlan(ctx, in.Plan)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(p.Stages, func(s plan.Stage) bool { return s.PreProcess != "" }) {
		return false, nil
	}
	for one := range p.AllAgents() {
		if one.ByOthers() {
			return false, nil
		}
	}
	const page = 50 // entries; the first result comes soon
	for seq := int64(0); ; {
		entries, err := a.Transcripts.After(ctx, in.Investigation, seq, page)
		if err != nil {
			return false, fmt.Errorf("read the tool results of %s: %w", in.Investigation, err)
		}
		for _, e := range entries {
			if e.Kind == transcript.KindResult && !e.Superseded && e.ErrorType == "" && e.Given == "" && e.Call != nil && !e.Call.Inward() {
				return false, nil
			}
			seq = e.Seq
		}
		if len(entries) < page {
			return true, nil
		}
	}
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
		if last && job.Blank(e) {
			why = cmp.Or(job.NotWhole(e), job.EarlierStands)
			break
		}
		if last = false; e.Text == text {
			why = job.NotWhole(e)
			break
		}
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("**This report is incomplete: %s.**\n\n", why)
}

// behindWhy returns the message of an error of type ErrorStoreBehind.
func behindWhy(err error) (message string, ok bool) {
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || failed.Type() != ErrorStoreBehind {
		return "", false
	}
	return failed.Message(), true
}

package workflows

import (
	"cmp"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

const (
	maxHistory = 200 // runs of stages in a status
	maxErrors  = 50
)

// record adds an ended stage to the state. A stage that could not save its own record is also kept for Finish.
func (r *investigationRun) record(ctx workflow.Context, s *stageChild, result StageResult) {
	unsaved := result.Started.IsZero()
	if unsaved {
		result.Started, result.Ended = s.started, workflow.Now(ctx)
	}
	ended := s.in.record(result)
	r.state.Ran = newest(append(r.state.Ran, ended), maxHistory)
	if unsaved {
		r.state.Unsaved = newest(append(r.state.Unsaved, ended), maxErrors)
	}
}

// forget drops the output of a stage run that is no longer needed.
func (r *investigationRun) forget(run string) {
	for n := range r.state.Ran {
		if r.state.Ran[n].Name == run {
			r.state.Ran[n].Envelope.Output = record.Output{}
		}
	}
}

// why says why a stage did not succeed.
func (s StageResult) why() string { return StageInput{}.record(s).Why() }

// newest returns the last n elements.
func newest[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

// envelope returns the parts of the status besides the runs of the stages.
func (r *investigationRun) envelope() record.Envelope {
	skeleton := r.state.Resolved.Skeleton
	out := record.Envelope{
		Version: record.EnvelopeVersion, By: r.state.Resolved.By, Schedule: r.state.Resolved.Schedule, Before: r.state.Resolved.Before,
		Fork: r.state.Resolved.Fork, Trial: r.state.Resolved.Trial,
		Pass: r.state.Walk.Pass + 1, Hops: r.state.Walk.Hops,
		Bounds:  skeleton.Bounds.InForce(skeleton.Timeout, r.state.Extended, r.state.Longer),
		Answers: r.state.Answers, Undelivered: r.state.Undelivered, Summary: r.result.Summary, SummaryError: r.result.SummaryError,
	}
	out.NotChecked, out.NoToolResult = record.NotCheckedIn(r.state.Ran), r.result.NoToolResult
	if fork := out.Fork; fork != nil {
		out.NotChecked = append(out.NotChecked, fork.Given...)
	}
	for n, stage := range skeleton.Stages {
		if r.state.Runs[n] == 0 {
			out.Pending = append(out.Pending, stage.Name)
		}
	}
	for _, result := range r.state.Results {
		if !result.Void {
			out.Outputs = append(out.Outputs, result.Stage)
		}
	}
	return out
}

// StatusOf builds a status. For an ended investigation, r and runs come from the store. For a
// running one, the workflow supplies the same values. The runs of stages may be in any
// order.
func StatusOf(r record.Investigation, runs []record.Stage) Status {
	e := r.Envelope
	runs = standing(e, runs)
	out := Status{
		ID: r.ID, Chain: r.Chain, Status: r.Status, EndReason: r.EndReason, Cut: r.EndReason.Cut(),
		By: e.By, Labels: r.Labels, Usage: r.Usage, Error: r.Error,
		Pass: e.Pass, Hops: e.Hops, Bounds: e.Bounds, Answers: e.Answers, Undelivered: e.Undelivered,
		Summary: e.Summary, SummaryError: e.SummaryError, NotChecked: e.NotChecked, NoToolResult: e.NoToolResult,
	}
	var ended []record.Stage
	for _, s := range runs {
		if s.EndedAt != nil {
			ended = append(ended, s)
		}
	}
	slices.SortStableFunc(ended, func(a, b record.Stage) int {
		return cmp.Or(a.EndedAt.Compare(*b.EndedAt), cmp.Compare(a.Envelope.Order, b.Envelope.Order))
	})
	for _, s := range newest(ended, maxHistory) {
		out.History = append(out.History, runOf(s))
		if s.Status != agent.StatusCompleted || s.Outcome == agent.OutcomeError {
			failed := StageError{Stage: s.Name, Error: clip.Text(s.Why(), 500), ErrorType: s.Envelope.ErrorType, Timestamp: *s.EndedAt}
			out.Errors = newest(append(out.Errors, failed), maxErrors)
		}
	}
	out.Stages = stagesOf(r, runs)
	out.Outputs = outputsOf(e, runs)
	return out
}

// standing returns the runs of stages in the order in which they started, without those
// undone by a Temporal reset.
func standing(e record.Envelope, runs []record.Stage) (out []record.Stage) {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b record.Stage) int {
		return cmp.Or(cmp.Compare(a.Envelope.Order, b.Envelope.Order), a.StartedAt.Compare(b.StartedAt))
	})
	for n, s := range runs {
		replaced := n+1 < len(runs) && s.Envelope.Order > 0 && s.Envelope.Order == runs[n+1].Envelope.Order
		stands := s.Envelope.Order <= e.Hops || s.Index < 0 && e.Summary+e.SummaryError != "" // the summary does not count as a hop
		if !replaced && (!e.Final || stands) {
			out = append(out, s)
		}
	}
	return out
}

func runOf(s record.Stage) StageRun {
	run := StageRun{
		Stage: s.Name, Pass: s.Envelope.Pass, Started: s.StartedAt, Completed: *s.EndedAt, DurationMS: s.EndedAt.Sub(s.StartedAt).Milliseconds(),
		Status: s.Status, Outcome: s.Outcome, Error: clip.Text(s.Error, 300),
	}
	for _, a := range s.Envelope.Agents {
		run.Agents = append(run.Agents, a.Name)
		run.LLMCalls += a.Usage.ModelCalls
	}
	return run
}

// stagesOf returns the runs of stages, each with its own agents, and the stages that have
// not run.
func stagesOf(r record.Investigation, runs []record.Stage) (out []StageStatus) {
	for _, s := range runs {
		out = append(out, StageStatus{
			Name: s.Name, Run: s.Envelope.Run, Status: s.Status, Partial: s.Envelope.Partial, Agents: s.Envelope.Agents, Error: s.Error,
		})
	}
	out = newest(out, maxHistory)
	status := agent.StatusPending
	if r.Status.Closed() {
		status = agent.StatusSkipped
	}
	for _, name := range r.Envelope.Pending {
		if !slices.ContainsFunc(runs, func(s record.Stage) bool { return s.Name == name }) {
			out = append(out, StageStatus{Name: name, Status: status})
		}
	}
	return out
}

// outputsOf returns the outputs of the last pass's stages.
func outputsOf(e record.Envelope, runs []record.Stage) map[string]Output {
	out := map[string]Output{}
	for _, s := range runs {
		if slices.Contains(e.Outputs, s.Name) {
			out[s.Envelope.Key] = Output{Stage: s.Name, Execution: s.Result, Value: s.Envelope.Output.Value, Ref: s.Envelope.Output.Ref}
		}
	}
	return out
}

// record returns the record of an ended stage run, for the store and the status.
func (in StageInput) record(result StageResult) record.Stage {
	name, _, _ := strings.Cut(in.Stage.Name, "#")
	ended := exact(result.Ended)
	out := record.Stage{
		Investigation: in.Investigation, Name: in.Stage.Name, Index: in.Index,
		Status: result.Status, Outcome: result.Outcome, Result: result.Result, Error: result.Error,
		StartedAt: exact(result.Started), EndedAt: &ended,
		Envelope: record.StageEnvelope{
			Version: record.EnvelopeVersion, Order: in.Order, Run: in.Run, Pass: in.Pass, Agents: result.Agents, ErrorType: result.ErrorType,
			Key: cmp.Or(in.Stage.OutputKey, name), Output: result.Output, Partial: result.Partial,
		},
	}
	if result.Outcome == agent.OutcomeError {
		out.Envelope.Message = textField(result.Fields, "message")
	}
	return out
}

// saved returns the summary of the ended execution for the store.
func (m *member) saved() activities.ExecutionSummary {
	return activities.ExecutionSummary{
		Ref: m.ref, Status: m.result.Status, StopReason: m.result.StopReason, Forced: m.result.Forced,
		Iterations: m.result.Iterations, Usage: m.result.Usage, Error: clip.Text(cmp.Or(m.result.Error, m.result.Partial), 500),
		Started: exact(m.startedAt), Ended: exact(m.endedAt),
	}
}

// summarise runs a separate stage after the chain that summarises the investigation in a few lines.
// Its result does not change how the investigation ends.
func (r *investigationRun) summarise(ctx workflow.Context) {
	p := r.state.Resolved.Skeleton.Summary
	if p == nil || ctx.Err() != nil || r.state.Walk.End == agent.EndStoreBehind || len(r.sources(false)) == 0 {
		return
	}
	s := &stageChild{index: plan.SummaryStage, plan: *p, started: workflow.Now(ctx)}
	if grace := r.state.Resolved.Skeleton.Conclude; r.state.Deadline.Expired && grace > 0 {
		s.plan.Agents = slices.Clone(s.plan.Agents)
		timeouts := &s.plan.Agents[0].Timeouts
		timeouts.Agent = shorter(timeouts.Agent, plan.Duration(r.timeToConclude()))
	}
	s.in = r.stageInput(s)
	s.in.Order, s.in.Run = r.state.Walk.Hops+1, 1
	s.in.Reserve = true // a bound that was reached must not keep the summary from being written
	r.running = append(r.running, s)
	r.view.show(ctx)
	s.child = r.family.start(ctx, p.Name, "executive summary", Stage, s.in)
	waiting, _ := workflow.NewDisconnectedContext(ctx) // a cancelled child still reports its result
	_ = workflow.Await(waiting, func() bool { return s.child.IsReady() })
	result := r.collect(ctx, s)
	if r.summary = result.Result; result.Status != agent.StatusCompleted {
		r.result.SummaryError = clip.Text(result.why(), 300)
	}
}

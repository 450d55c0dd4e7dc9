package workflows

import (
	"fmt"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// Investigation runs one request through the stages of its chain. Its input is
// an agent.Request; it is read by the activity Resolve, strictly, so that a bad
// one is one clear failure.
func Investigation(ctx workflow.Context, input converter.RawValue) (InvestigationResult, error) {
	run := investigationRun{}
	return run.execute(ctx, input)
}

// investigationState is what an investigation carries from one of its runs to the next.
type investigationState struct {
	Resolved    activities.ResolveOut `json:"resolved"`
	Stages      []StageStatus         `json:"stages"`
	Next        int                   `json:"next"` // index of the stage that comes next
	Results     []activities.Source   `json:"results,omitempty"`
	Usage       agent.Usage           `json:"usage"`
	Steering    Steering              `json:"steering"`
	Deadline    deadline              `json:"deadline"`
	Undelivered []string              `json:"undelivered,omitempty"`
	Shown       *attributes           `json:"shown,omitempty"`
}

// attributes are the search attributes that change while an investigation runs.
type attributes struct {
	Stage  string       `json:"stage,omitempty"`
	Status agent.Status `json:"status"`
}

// continued is the input of a later run.
type continued struct {
	State *investigationState `json:"continued_state"`
}

type investigationRun struct {
	id      string
	state   investigationState
	child   workflow.ChildWorkflowFuture // the stage that runs
	signals *signals
	waiting []Approval // calls of the running stage that wait for a person
	result  InvestigationResult
}

func (r *investigationRun) execute(ctx workflow.Context, input converter.RawValue) (InvestigationResult, error) {
	info := workflow.GetInfo(ctx)
	r.id = InvestigationID(info.WorkflowExecution.ID, info.FirstRunID)
	r.result = InvestigationResult{ID: r.id, Status: agent.StatusRunning}
	r.signals = listen(ctx)
	if err := r.answerQueries(ctx); err != nil {
		return r.result, err
	}
	r.signals.serve(ctx, r.handle)
	hear(ctx, func(w Waiting) { r.hear(ctx, w) })
	if err := r.begin(ctx, input); err != nil {
		return r.result, err
	}
	held := func() bool { return r.state.Steering.Paused || len(r.waiting) > 0 }
	work, cancel := r.state.Deadline.start(ctx, "investigation timeout", held)
	again := r.walk(work)
	cancel()
	if again {
		return r.result, r.continueAsNew(ctx)
	}
	return r.finish(ctx)
}

// begin resolves the request, or takes over the state of the run before.
func (r *investigationRun) begin(ctx workflow.Context, input converter.RawValue) error {
	info := workflow.GetInfo(ctx)
	if info.ContinuedExecutionRunID != "" {
		if err := converter.GetDefaultDataConverter().FromPayload(input.Payload(), &continued{&r.state}); err != nil {
			return fmt.Errorf("read the state of the run before: %w", err)
		}
		return nil
	}
	if len(info.WorkflowExecution.ID) > maxID {
		return r.refused(ctx, fmt.Sprintf("the workflow id is longer than %d characters", maxID), activities.ErrorInvalidRequest)
	}
	in := activities.ResolveIn{Investigation: r.id, RunID: info.FirstRunID}
	if err := workflow.ExecuteActivity(storeOptions(ctx, "chain and configuration"), act.Resolve, in).Get(ctx, &r.state.Resolved); err != nil {
		if ctx.Err() != nil {
			r.result.Status, r.result.EndReason = agent.StatusCancelled, agent.EndCancelled
			return err
		}
		errorType, message := failure(err)
		return r.refused(ctx, message, errorType)
	}
	for _, stage := range r.state.Resolved.Skeleton.Stages {
		r.state.Stages = append(r.state.Stages, StageStatus{Name: stage.Name, Status: agent.StatusPending})
	}
	r.state.Deadline.Remaining = r.state.Resolved.Skeleton.Timeout.D()
	return nil
}

// refused is the failure of an investigation that never began.
func (r *investigationRun) refused(ctx workflow.Context, message, errorType string) error {
	r.result.Status, r.result.Error = agent.StatusFailed, message
	workflow.SetCurrentDetails(ctx, statusTable(r.snapshot()))
	return temporal.NewNonRetryableApplicationError(message, errorType, nil)
}

// walk runs the stages that are left. again asks for a new run to go on in.
func (r *investigationRun) walk(ctx workflow.Context) (again bool) {
	stages := r.state.Resolved.Skeleton.Stages
	for ; r.state.Next < len(stages); r.state.Next++ {
		r.show(ctx)
		if workflow.Await(ctx, func() bool { return !r.state.Steering.Paused }) != nil {
			return false
		}
		r.signals.drain(ctx, r.handle)
		if r.state.Steering.Concluding || ctx.Err() != nil {
			return false
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return true
		}
		if !r.runStage(ctx, r.state.Next) {
			return false
		}
	}
	return false
}

// runStage runs one stage and reports whether the next one may start.
func (r *investigationRun) runStage(ctx workflow.Context, n int) bool {
	plan := r.state.Resolved.Skeleton.Stages[n]
	status := &r.state.Stages[n]
	status.Status = agent.StatusRunning
	r.show(ctx)
	in := StageInput{
		Investigation: r.id, Plan: r.state.Resolved.Plan, Index: n, Stage: plan,
		Prior: r.state.Results, Steering: r.takeSteering(plan),
	}
	child := workflow.ExecuteChildWorkflow(childOptions(ctx, childID(r.id, plan.Name), plan.Name), Stage, in)
	r.child = child
	workflow.SetCurrentDetails(ctx, statusTable(r.snapshot())) // again, now with the agents
	// The stage says how it ended even if we were cancelled meanwhile.
	wait, _ := workflow.NewDisconnectedContext(ctx)
	result, ok, err := outcomeOf[StageResult](wait, child)
	r.child, r.waiting = nil, nil
	if !ok {
		errorType, message := failure(err)
		result = StageResult{Status: agent.StatusFailed, ErrorType: errorType, Error: clip(message, 500)}
	}
	if !ok && temporal.IsCanceledError(err) { // before it started
		result = StageResult{Status: agent.StatusCancelled}
	}
	r.keep(status, result)
	return result.Status == agent.StatusCompleted
}

// hear keeps what the running stage says it waits for.
func (r *investigationRun) hear(ctx workflow.Context, w Waiting) {
	if r.child == nil || r.state.Stages[r.state.Next].Name != w.Execution {
		return // it has ended meanwhile
	}
	r.waiting = w.Approvals
	workflow.SetCurrentDetails(ctx, statusTable(r.snapshot()))
}

// keep adds a stage's result to the state.
func (r *investigationRun) keep(status *StageStatus, result StageResult) {
	status.Status, status.Agents, status.Error = result.Status, result.Agents, result.Error
	r.state.Usage = r.state.Usage.Add(result.Usage)
	r.state.Steering.Guidance = append(r.state.Steering.Guidance, result.Guidance...)
	if result.Result != "" {
		r.state.Results = append(r.state.Results, activities.Source{Stage: status.Name, Execution: result.Result})
	}
	if result.Status != agent.StatusCompleted {
		r.result.Error = fmt.Sprintf("stage %s: %s", status.Name, result.Error)
		r.result.EndReason = endReason(result)
	}
}

// finish closes the investigation: what was done is kept however it ended.
func (r *investigationRun) finish(ctx workflow.Context) (InvestigationResult, error) {
	r.settle(ctx)
	cleanup, _ := workflow.NewDisconnectedContext(ctx)
	in := activities.FinishIn{
		Investigation: r.id, Status: r.result.Status, EndReason: r.result.EndReason,
		Error: r.result.Error, Usage: r.state.Usage, Results: r.state.Results,
	}
	var out activities.FinishOut
	if err := workflow.ExecuteActivity(storeOptions(cleanup, "report"), act.Finish, in).Get(cleanup, &out); err != nil {
		return r.result, err
	}
	r.result.Report, r.result.ReportRef = out.Report, out.ReportRef
	r.signals.drain(cleanup, r.handle)
	r.result.Stages, r.result.Usage = r.state.Stages, r.state.Usage
	r.show(cleanup)
	return ending(r.result.Status, r.result, r.result.Error, string(r.result.EndReason))
}

// settle decides the status, and marks what was never started.
func (r *investigationRun) settle(ctx workflow.Context) {
	status, reason := agent.StatusCompleted, agent.EndCompleted
	switch {
	case r.state.Deadline.Expired:
		status, reason = agent.StatusTimedOut, agent.EndTimedOut
		r.result.Error = fmt.Sprintf("the investigation did not finish within %s", r.state.Resolved.Skeleton.Timeout)
	case ctx.Err() != nil:
		status, reason = agent.StatusCancelled, agent.EndCancelled
	case r.result.EndReason != "":
		reason = r.result.EndReason
		status = agent.StatusFailed
		if reason == agent.EndTimedOut {
			status = agent.StatusTimedOut
		}
	}
	r.result.Status, r.result.EndReason = status, reason
	for i := range r.state.Stages {
		if r.state.Stages[i].Status == agent.StatusPending {
			r.state.Stages[i].Status = agent.StatusSkipped
		}
	}
}

// endReason says why a stage's failure ended the investigation.
func endReason(result StageResult) agent.EndReason {
	switch {
	case result.Status == agent.StatusTimedOut:
		return agent.EndTimedOut
	case activities.ModelError(result.ErrorType):
		return agent.EndLLMFailed
	}
	return agent.EndToolFailed
}

func (r *investigationRun) continueAsNew(ctx workflow.Context) error {
	r.signals.drain(ctx, r.handle)
	r.state.Deadline.hold(workflow.Now(ctx))
	state, err := converter.GetDefaultDataConverter().ToPayload(continued{&r.state})
	if err != nil {
		return fmt.Errorf("write the state for the next run: %w", err)
	}
	return workflow.NewContinueAsNewError(ctx, Investigation, converter.NewRawValue(state))
}

// The search attributes, upserted at stage boundaries only.
var (
	attributeChain     = temporal.NewSearchAttributeKeyKeyword(activities.AttributeChain)
	attributeStage     = temporal.NewSearchAttributeKeyKeyword(activities.AttributeStage)
	attributeStatus    = temporal.NewSearchAttributeKeyKeyword(activities.AttributeStatus)
	attributeAlertType = temporal.NewSearchAttributeKeyKeyword(activities.AttributeAlertType)
)

// show makes the Temporal UI say where the investigation stands.
func (r *investigationRun) show(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, statusTable(r.snapshot()))
	if !r.state.Resolved.SearchAttributes {
		return
	}
	changed := r.changedAttributes()
	if len(changed) == 0 {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, changed...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes not set", "error", err)
	}
}

// changedAttributes are those that differ from what was shown last: each upsert
// is an event, and work for the server.
func (r *investigationRun) changedAttributes() (changed []temporal.SearchAttributeUpdate) {
	now := attributes{Status: r.result.Status}
	if !r.result.Status.Closed() && r.state.Next < len(r.state.Stages) {
		now.Stage = r.state.Stages[r.state.Next].Name
	}
	if r.state.Shown == nil {
		skeleton := r.state.Resolved.Skeleton
		changed = append(changed, attributeChain.ValueSet(skeleton.Chain), attributeAlertType.ValueSet(skeleton.AlertType))
		r.state.Shown = &attributes{}
	}
	switch {
	case now.Stage == r.state.Shown.Stage:
	case now.Stage == "":
		changed = append(changed, attributeStage.ValueUnset())
	default:
		changed = append(changed, attributeStage.ValueSet(now.Stage))
	}
	if now.Status != r.state.Shown.Status {
		changed = append(changed, attributeStatus.ValueSet(string(now.Status)))
	}
	*r.state.Shown = now
	return changed
}

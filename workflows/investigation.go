package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/route"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// Investigation runs one request through the stages of its chain. Its input is an
// agent.Request. The activity Resolve decodes it strictly, so an invalid request
// gives one clear failure.
func Investigation(ctx workflow.Context, input converter.RawValue) (InvestigationResult, error) {
	run := newInvestigationRun()
	return run.execute(ctx, input)
}

// investigationState is the state that one run of an investigation hands to the next.
type investigationState struct {
	Resolved activities.ResolveOut `json:"resolved"`
	Stages   []StageStatus         `json:"stages"` // current status of each stage of the chain
	Walk     route.State           `json:"walk"`
	Runs     []int                 `json:"runs,omitempty"` // of each stage
	// Results holds the stage results in the order in which they ended. Results of earlier
	// passes are void, but agents still see them.
	Results     []stageResult     `json:"results,omitempty"`
	Answers     []activities.Note `json:"answers,omitempty"`
	Asked       int               `json:"asked,omitempty"` // questions so far
	Extended    plan.Extension    `json:"extended,omitzero"`
	Longer      plan.Duration     `json:"longer,omitempty"` // total extension of the time
	Limits      int               `json:"limits,omitempty"` // how often people were asked about a bound
	Usage       agent.Usage       `json:"usage"`
	Steering    Steering          `json:"steering"`
	Letters     int               `json:"letters,omitempty"` // messages from people to agents
	Notices     notices           `json:"notices,omitempty"`
	Deadline    deadline          `json:"deadline"`
	Ran         []record.Stage    `json:"ran,omitempty"`     // the newest 200, in the order in which they ended
	Unsaved     []record.Stage    `json:"unsaved,omitempty"` // stages that could not save their own record
	Undelivered []string          `json:"undelivered,omitempty"`
	Shown       *attributes       `json:"shown,omitempty"`
	Acts        []audit.Act       `json:"acts,omitempty"`  // acts of people not yet in the audit trail
	Acted       int               `json:"acted,omitempty"` // acts so far
	Seen        []transcript.Mark `json:"seen,omitempty"`  // entries that the stages knew to be written
	// Outside says, by execution, how the final text of a stage violates its agent's contract.
	Outside map[string]string `json:"outside,omitempty"`
	recordedStatus
}

// attributes are the search attributes that change while an investigation runs.
type attributes struct {
	Stage  string       `json:"stage,omitempty"`
	Status agent.Status `json:"status"`
}

// continued is the input of a later run.
type continued[S any] struct {
	State *S `json:"continued_state"`
}

// continuedState returns the state of the previous run, if that run continued as new in this one.
// Temporal also sets ContinuedExecutionRunID for other runs, whose input has no such state.
func continuedState[S any](ctx workflow.Context, input converter.RawValue) (*S, error) {
	if workflow.GetInfo(ctx).ContinuedExecutionRunID == "" {
		return nil, nil
	}
	var in continued[S]
	if err := converter.GetDefaultDataConverter().FromPayload(input.Payload(), &in); err != nil {
		return nil, fmt.Errorf("read the state of the previous run: %w", err)
	}
	return in.State, nil
}

// startedOnce rejects a workflow that Temporal would restart with the same first run, because the
// second start would repeat the same investigation.
func startedOnce(ctx workflow.Context) error {
	switch info := workflow.GetInfo(ctx); {
	case info.CronSchedule != "":
		const why = "cron schedules (%s) are not supported, because they would repeat the same run. Use a Temporal Schedule, which " +
			"starts a new workflow each time"
		return fmt.Errorf(why, info.CronSchedule)
	case info.RetryPolicy != nil:
		return errors.New("workflow retry policies are not supported, because they would repeat the whole run. Each step is retried " +
			"on its own; to run regularly, use a Temporal Schedule")
	}
	return nil
}

// stageResult is the execution whose final text stands for a run of a stage.
type stageResult struct {
	activities.Source
	Index int  `json:"index"`
	Void  bool `json:"void,omitempty"` // its stage is to run again in a later pass
}

type investigationRun struct {
	unresolved bool // it ended before the plan was resolved
	id         string
	watch      *watch
	family     family
	state      investigationState
	running    []*stageChild
	// cancelStages cancels all running stages of the chain.
	cancelStages workflow.CancelFunc
	questions    questions
	bounds       bounds
	delivery     delivery
	view         statusView
	signals      *signals
	summary      string // the execution that wrote it
	result       InvestigationResult
}

func newInvestigationRun() *investigationRun {
	run := &investigationRun{}
	run.questions.run, run.bounds.run, run.delivery.run, run.view.run = run, run, run, run
	return run
}

func (r *investigationRun) execute(ctx workflow.Context, input converter.RawValue) (InvestigationResult, error) {
	info := workflow.GetInfo(ctx)
	r.id = InvestigationID(info.WorkflowExecution.ID, info.FirstRunID)
	r.watch = newWatch(ctx)
	r.family = newFamily(ctx, r.watch, r.id)
	r.result = InvestigationResult{ID: r.id, Status: agent.StatusRunning}
	r.signals = listen(ctx, SignalWaiting)
	if err := r.view.answerQueries(ctx); err != nil {
		return r.result, err
	}
	if err := r.signals.serve(ctx, r.watch, &r.delivery); err != nil {
		return r.result, err
	}
	receiveWaits(ctx, r.watch, func(w Waiting) { r.storeWaits(ctx, w) })
	if err := r.questions.serveAnswers(ctx); err != nil {
		return r.result, err
	}
	if err := r.bounds.serveExtensions(ctx); err != nil {
		return r.result, err
	}
	if err := r.questions.serveElicitations(ctx); err != nil {
		return r.result, err
	}
	if err := r.begin(ctx, input); err != nil {
		r.unresolved = true
		if ctx.Err() != nil {
			return r.finish(ctx)
		}
		return r.result, err
	}
	leaveNewer(r.state.Resolved.Skeleton.Version)
	r.family.priority = Priority(r.state.Resolved.Labels)
	r.view.recordStatus(ctx)
	r.bounds.serveLimits(ctx)
	clock := bound{what: "investigation timeout", held: r.held, more: r.bounds.moreTime, warn: r.timeIsUp}
	work, cancel := r.state.Deadline.start(ctx, r.watch, clock)
	newRun := r.walk(work)
	cancel()
	if newRun {
		return r.result, r.continueAsNew(ctx)
	}
	r.summarise(ctx)
	return r.finish(ctx)
}

// timeIsUp asks the agents to conclude, and returns how long they have.
func (r *investigationRun) timeIsUp() time.Duration {
	r.signals.timeIsUp()
	return r.timeToConclude()
}

// timeToConclude is how long agents have to conclude after the investigation's time limit.
func (r *investigationRun) timeToConclude() time.Duration {
	skeleton := r.state.Resolved.Skeleton
	return timeToConclude(skeleton.Conclude, skeleton.Timeout+r.state.Longer)
}

// begin resolves the request, or restores the state of the previous run.
func (r *investigationRun) begin(ctx workflow.Context, input converter.RawValue) error {
	if err := startedOnce(ctx); err != nil {
		return r.refused(ctx, err.Error(), activities.ErrorInvalidRequest)
	}
	if state, err := continuedState[investigationState](ctx, input); state != nil || err != nil {
		if err == nil {
			r.state = *state
		}
		return err
	}
	info := workflow.GetInfo(ctx)
	if len(info.WorkflowExecution.ID) > maxID {
		return r.refused(ctx, fmt.Sprintf("the workflow ID is longer than %d bytes", maxID), activities.ErrorInvalidRequest)
	}
	in := activities.ResolveIn{Investigation: r.id, RunID: info.FirstRunID}
	if err := storeStep(ctx, "chain and configuration", act.Resolve, in, &r.state.Resolved); err != nil {
		if ctx.Err() != nil {
			return err
		}
		errorType, message := failure(err)
		r.state.Resolved = refusal(err)
		return r.refused(ctx, message, errorType)
	}
	for _, stage := range r.state.Resolved.Skeleton.Stages {
		r.state.Stages = append(r.state.Stages, StageStatus{Name: stage.Name, Status: agent.StatusPending})
	}
	r.state.Runs = make([]int, len(r.state.Stages))
	r.state.Deadline.Remaining = r.state.Resolved.Skeleton.Timeout.D()
	return nil
}

// refused is the failure of an investigation that never began.
func (r *investigationRun) refused(ctx workflow.Context, message, errorType string) error {
	r.result.Status, r.result.Error = agent.StatusRefused, message
	r.view.show(ctx)
	return temporal.NewNonRetryableApplicationError(message, errorType, nil)
}

// refusal returns what Resolve knows about a rejected request.
func refusal(err error) (known activities.ResolveOut) {
	if refused, ok := errors.AsType[*temporal.ApplicationError](err); ok && refused.HasDetails() {
		_ = refused.Details(&known) // without it, the investigation is in Temporal's list all the same
	}
	return known
}

// finish closes the investigation. Results are kept, whatever the end.
func (r *investigationRun) finish(ctx workflow.Context) (InvestigationResult, error) {
	cleanup, _ := workflow.NewDisconnectedContext(ctx)
	_ = workflow.Await(cleanup, func() bool { return workflow.AllHandlersFinished(ctx) })
	r.signals.awaitHandled(cleanup)
	r.afterReset(ctx)
	r.setStatus(ctx)
	in := activities.FinishIn{
		Investigation: r.id, Plan: r.state.Resolved.Plan, Envelope: r.envelope(), Unsaved: r.state.Unsaved,
		Status: r.result.Status, EndReason: r.result.EndReason,
		Error: r.result.Error, Usage: r.state.Usage,
		Results: append(r.sources(true), r.sources(false)...), // if the last pass has no result, the report is from the pass before
	}
	in.Summary, in.Envelope.Final, in.Acts = r.summary, true, r.state.Acts
	in.Seen, in.Outside = r.state.Seen, r.state.Outside
	in.Concluded = r.state.Walk.End == "" || r.state.Steering.Concluding && !r.state.Steering.Late
	var out activities.FinishOut
	for refusals := -1; refusals != r.delivery.refusals; { // until no signal has arrived too late
		refusals, in.Envelope.Undelivered = r.delivery.refusals, r.state.Undelivered
		if err := storeStep(cleanup, "report", act.Finish, in, &out); err != nil {
			return r.result, err
		}
		r.signals.awaitHandled(cleanup)
	}
	r.result.Report, r.result.ReportRef, r.state.Usage = out.Report, out.ReportRef, cmp.Or(out.Usage, r.state.Usage)
	if out.Failed != "" {
		r.result.Status, r.result.EndReason, r.result.Error = agent.StatusFailed, out.Failed, out.Error
	}
	r.result.Summary, r.result.Proof = out.Summary, out.Proof
	r.result.NotChecked, r.result.NoToolResult = in.Envelope.NotChecked, out.NoToolResult
	if len(out.NotChecked) > 0 {
		r.result.NotChecked = out.NotChecked
	}
	r.result.Undelivered = append(r.state.Undelivered, out.Undelivered...)
	r.state.Undelivered = r.result.Undelivered
	r.result.Stages, r.result.Usage = r.view.snapshot().Stages, r.state.Usage
	r.view.show(cleanup)
	r.score(cleanup)
	return ending(r.result.Status, r.result, r.result.Error, string(r.result.EndReason))
}

// setStatus decides the status.
func (r *investigationRun) setStatus(ctx workflow.Context) {
	r.result.Status, r.result.EndReason = agent.StatusCompleted, r.state.Walk.End
	switch {
	case r.state.Walk.End == agent.EndStoreBehind:
		r.result.Status = agent.StatusFailed
	case r.state.Deadline.Expired && r.state.Resolved.Skeleton.Bounds.MaxDuration > 0:
		r.result.EndReason, r.result.Error = agent.EndBudget, "" // being cut off is not a failure
	case r.state.Deadline.Expired:
		r.result.Status, r.result.EndReason = agent.StatusTimedOut, agent.EndTimedOut
		r.result.Error = fmt.Sprintf("the investigation did not finish within %s", r.state.Resolved.Skeleton.Timeout)
	case ctx.Err() != nil:
		r.result.Status, r.result.EndReason = agent.StatusCancelled, agent.EndCancelled
	case r.state.Walk.End == "":
		r.result.EndReason = agent.EndCompleted // a person asked it to conclude
	case r.state.Walk.End == agent.EndTimedOut:
		r.result.Status = agent.StatusTimedOut
	case r.state.Walk.End.Failure():
		r.result.Status = agent.StatusFailed
	}
	if r.result.EndReason == agent.EndCompleted && (len(r.state.Outside) > 0 || len(record.NotCheckedIn(r.state.Ran)) > 0) {
		r.result.EndReason = agent.EndPartial
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

// maxEvents is how long a run's history may get before the next stage starts; a
// stage takes about a dozen events.
const maxEvents = 3500

func (r *investigationRun) longEnough(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() > maxEvents
}

func (r *investigationRun) continueAsNew(ctx workflow.Context) error {
	r.state.Deadline.stopClock(workflow.Now(ctx))
	state, err := converter.GetDefaultDataConverter().ToPayload(continued[investigationState]{&r.state})
	if err != nil {
		return fmt.Errorf("write the state for the next run: %w", err)
	}
	return workflow.NewContinueAsNewError(ctx, Investigation, converter.NewRawValue(state))
}

// The search attributes, upserted when a stage starts or the status changes.
var (
	attributeChain     = temporal.NewSearchAttributeKeyKeyword(activities.AttributeChain)
	attributeStage     = temporal.NewSearchAttributeKeyKeyword(activities.AttributeStage)
	attributeStatus    = temporal.NewSearchAttributeKeyKeyword(activities.AttributeStatus)
	attributeAlertType = temporal.NewSearchAttributeKeyKeyword(activities.AttributeAlertType)
)

// show updates the search attributes and the details in the Temporal UI.
func (v *statusView) show(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, statusTable(v.snapshot()))
	if !v.run.state.Resolved.SearchAttributes {
		return
	}
	changed := v.changedAttributes()
	if len(changed) == 0 {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, changed...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes not set", "error", err)
	}
}

// changedAttributes returns the attributes that differ from the last upsert. Each upsert
// is an event, and work for the server.
func (v *statusView) changedAttributes() (changed []temporal.SearchAttributeUpdate) {
	now := attributes{Status: v.current()}
	if !v.run.result.Status.Closed() && len(v.run.running) > 0 {
		now.Stage = v.run.running[0].plan.Name
	}
	if v.run.state.Shown == nil {
		skeleton := v.run.state.Resolved.Skeleton
		changed = append(changed, attributeChain.ValueSet(skeleton.Chain), attributeAlertType.ValueSet(skeleton.AlertType))
		v.run.state.Shown = &attributes{}
	}
	switch {
	case now.Stage == v.run.state.Shown.Stage:
	case now.Stage == "":
		changed = append(changed, attributeStage.ValueUnset())
	default:
		changed = append(changed, attributeStage.ValueSet(now.Stage))
	}
	if now.Status != v.run.state.Shown.Status {
		changed = append(changed, attributeStatus.ValueSet(string(now.Status)))
	}
	*v.run.state.Shown = now
	return changed
}

package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/route"
)

// stageChild is a running stage.
type stageChild struct {
	index   int
	plan    plan.StageSkeleton // with the name of this run
	in      StageInput
	child   *child
	waiting Waiting // what its agents wait for
	started time.Time
}

// agents returns the stage's agents that have started. A synthesis and a review start after
// all others have ended.
func (s *stageChild) agents() []plan.AgentSkeleton {
	all := slices.Clone(s.plan.Agents)
	for _, last := range []*plan.AgentSkeleton{s.plan.Synthesis, s.plan.Review} {
		if last != nil && len(s.waiting.Ended) >= len(all) {
			all = append(all, *last)
		}
	}
	return all
}

// walk runs the stages of the chain according to its routing rules. newRun asks to continue in a new run.
func (r *investigationRun) walk(ctx workflow.Context) (newRun bool) {
	way := route.Walk{Chain: r.chain(), State: &r.state.Walk}
	ctx, r.cancelStages = workflow.WithCancel(ctx)
	defer r.cancelStages()
	for {
		r.afterReset(ctx)
		r.signals.awaitHandled(ctx)
		going := !r.state.Steering.Paused && !r.over(ctx)
		if going {
			if len(r.running)+len(r.questions.interrupts)+len(r.bounds.asked) == 0 && r.longEnough(ctx) && workflow.AllHandlersFinished(ctx) {
				return true
			}
			for _, n := range way.Start() {
				r.launch(ctx, n)
			}
		}
		if r.over(ctx) && len(r.running) == 0 {
			r.questions.interrupts = nil // answers are no longer needed
			return false
		}
		workflow.SetCurrentDetails(ctx, statusTable(r.view.snapshot()))
		r.awaitOne(ctx, way, going)
	}
}

// chain returns the stages and bounds for the walk. By default, a plain chain has no bounds.
func (r *investigationRun) chain() route.Chain {
	return route.Chain{Stages: r.state.Resolved.Skeleton.Stages, Bounds: r.state.Resolved.Skeleton.Bounds}
}

// over reports whether no further stage will be started.
func (r *investigationRun) over(ctx workflow.Context) bool {
	return r.state.Steering.Concluding || ctx.Err() != nil || r.state.Walk.End != ""
}

// held reports whether the investigation's clock is stopped: it is paused, waits for people or
// providers, or an agent sleeps.
func (r *investigationRun) held() bool {
	return r.state.Steering.Paused || !r.waiting().empty() || len(r.questions.interrupts)+len(r.bounds.asked)+len(r.questions.elicited) > 0
}

// waiting returns everything that the running stages wait for.
func (r *investigationRun) waiting() (out Waiting) {
	for _, s := range r.running {
		out = out.and(s.waiting)
	}
	return out
}

// afterReset cleans up after a reset.
func (r *investigationRun) afterReset(ctx workflow.Context) {
	if r.family.afterReset(ctx) {
		r.state.Told, r.state.Waits = agent.StatusRunning, "" // matches the record after a reset
	}
}

// launch starts a stage.
func (r *investigationRun) launch(ctx workflow.Context, n int) {
	p := r.state.Resolved.Skeleton.Stages[n]
	r.state.Runs[n]++
	order := 0
	for _, runs := range r.state.Runs {
		order += runs
	}
	if r.state.Runs[n] > 1 { // each run has separate executions and records
		p.Name = fmt.Sprintf("%s#%d", p.Name, r.state.Runs[n])
	}
	r.state.Stages[n] = StageStatus{Name: r.state.Stages[n].Name, Status: agent.StatusRunning, Run: r.state.Runs[n]}
	s := &stageChild{index: n, plan: p, started: workflow.Now(ctx)}
	s.in = r.stageInput(s)
	s.in.Order, s.in.Run = order, r.state.Runs[n]
	r.running = append(r.running, s)
	r.view.show(ctx)
	s.child = r.family.start(ctx, p.Name, p.Name, Stage, s.in)
}

// stageInput returns the input for a stage that starts now.
func (r *investigationRun) stageInput(s *stageChild) StageInput {
	in := StageInput{
		Investigation: r.id, Plan: r.state.Resolved.Plan, Data: r.state.Resolved.Data, Index: s.index, Stage: s.plan,
		Prior: r.sources(false), Earlier: r.sources(true), Notes: r.questions.notes(), Steering: r.state.Steering.passedOn(),
		Pass: r.state.Walk.Pass + 1, Envelope: r.envelope(), Level: r.state.Resolved.Level, PlanVersion: r.state.Resolved.Skeleton.Version,
		Conclude: r.state.Resolved.Skeleton.Conclude, Seen: r.state.Seen,
	}
	if limit := r.state.Resolved.Skeleton.Timeout; limit > 0 {
		in.Grace = plan.Grace(in.Conclude, limit+r.state.Longer)
	}
	in.Envelope.Answers = nil // the notes contain them
	return in
}

func outcomeOfStage(ctx workflow.Context, child workflow.Future) StageResult {
	result, ok, err := outcomeOf[StageResult](ctx, child)
	if !ok {
		errorType, message := failure(err)
		result = StageResult{Status: agent.StatusFailed, Outcome: agent.OutcomeError, ErrorType: errorType, Error: clip.Text(message, 500)}
	}
	if !ok && temporal.IsCanceledError(err) { // before it started
		result = StageResult{Status: agent.StatusCancelled, Outcome: agent.OutcomeError}
	}
	return result
}

// awaitOne waits until a stage ends, a question is settled, a pause ends, or no more
// stages may start. It then processes the ended stages and the answers.
func (r *investigationRun) awaitOne(ctx workflow.Context, way route.Walk, going bool) {
	wait, _ := workflow.NewDisconnectedContext(ctx)
	over := r.over(ctx)
	_ = workflow.Await(wait, func() bool {
		resumed := !going && !over && !r.state.Steering.Paused
		return r.ended() != nil || r.questions.closedQuestion() != nil || resumed || !over && r.over(ctx)
	})
	for s := r.ended(); s != nil; s = r.ended() {
		r.take(ctx, way, s)
	}
	for i := r.questions.closedQuestion(); i != nil; i = r.questions.closedQuestion() {
		r.questions.resume(ctx, way, i)
	}
}

// ended returns the first ended stage that has not been processed.
func (r *investigationRun) ended() *stageChild {
	for _, s := range r.running {
		if s.child.IsReady() {
			return s
		}
	}
	return nil
}

// collect records the result of an ended stage. Its usage counts in any case.
func (r *investigationRun) collect(ctx workflow.Context, s *stageChild) StageResult {
	r.running = slices.DeleteFunc(slices.Clone(r.running), func(other *stageChild) bool { return other == s })
	result := outcomeOfStage(ctx, s.child)
	r.state.Usage = r.state.Usage.Add(result.Usage)
	r.state.Seen = newest(addSeen(r.state.Seen, result.Seen...), maxSeenOn)
	for _, why := range result.Undelivered {
		r.delivery.keepUndelivered(why) // it is already in the transcript
	}
	r.record(ctx, s, result)
	return result
}

// take processes the result of a stage of the chain. The result is a source for later stages even if the stage did
// not complete. The walk treats such a stage as an error, regardless of its outcome.
func (r *investigationRun) take(ctx workflow.Context, way route.Walk, s *stageChild) {
	result := r.collect(ctx, s)
	r.state.Stages[s.index].Status = result.Status
	if result.Result != "" {
		source := activities.Source{Stage: s.plan.Name, Execution: result.Result}
		r.state.Results = append(r.state.Results, stageResult{Source: source, Index: s.index})
		if result.Outside != "" && r.state.Outside == nil {
			r.state.Outside = map[string]string{}
		}
		if result.Outside != "" {
			r.state.Outside[result.Result] = result.Outside
		}
	}
	if result.ErrorType == activities.ErrorStoreBehind {
		r.stopBehind(way, s, result)
	}
	end := route.Result{Outcome: result.Outcome, Fields: result.Fields}
	if result.Status != agent.StatusCompleted {
		end.Outcome, end.Failure = agent.OutcomeError, endReason(result)
	}
	if result.Review != nil {
		end.Review = r.questions.reviewed(s, *result.Review)
	}
	r.leave(ctx, way, s, result, end)
}

// leave continues after an ended stage. A reached bound ends the walk, even if routing found
// a next stage.
func (r *investigationRun) leave(ctx workflow.Context, way route.Walk, s *stageChild, result StageResult, end route.Result) {
	pass := r.state.Walk.Pass
	ask, gate := way.Finish(s.index, end)
	if result.Bound != "" {
		way.Stop(result.Bound)
		ask = ""
	}
	if r.state.Walk.End.Failure() && r.result.Error == "" {
		r.result.Error = fmt.Sprintf("stage %s: %s", s.plan.Name, result.why())
	}
	if r.state.Walk.Pass != pass {
		r.void(way)
	}
	switch {
	case ask == route.Review:
		r.questions.askReview(ctx, way, s, result, end)
	case ask != "":
		r.questions.ask(ctx, way, s, ask, gate, result)
	}
}

// void marks the results of stages that will run again. It keeps only the newest of these results,
// because agents see no others.
func (r *investigationRun) void(way route.Walk) {
	var kept []stageResult
	void := 0
	for _, result := range slices.Backward(r.state.Results) {
		if way.State.Stages[result.Index] == "" {
			result.Void = true
			r.forget(result.Stage)
		}
		if result.Void {
			void++
		}
		if !result.Void || void <= maxEarlier {
			kept = append(kept, result)
		}
	}
	slices.Reverse(kept)
	r.state.Results = kept
}

// maxEarlier bounds the results of earlier passes that agents see.
const maxEarlier = 12

// sources returns the results of the current pass or, if void is set, of earlier passes.
func (r *investigationRun) sources(void bool) (out []activities.Source) {
	for _, result := range r.state.Results {
		if result.Void == void {
			out = append(out, result.Source)
		}
	}
	return out
}

// storeWaits stores the reported waits of a running stage.
func (r *investigationRun) storeWaits(ctx workflow.Context, w Waiting) {
	for _, s := range r.running {
		if s.plan.Name == w.Execution && !s.child.IsReady() {
			s.waiting = w.after(s.waiting)
			workflow.SetCurrentDetails(ctx, statusTable(r.view.snapshot()))
		}
	}
}

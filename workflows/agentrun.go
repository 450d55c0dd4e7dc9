package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// act is nil: it only names activities.
var act *activities.Activities

// maxNudges bounds how often the model is called again after an empty reply.
const maxNudges = 2

// agentState is the state that one run of an execution hands to the next.
type agentState struct {
	Iteration int                 `json:"iteration"` // model calls so far: the key of the last one
	Batches   int                 `json:"batches"`   // of tool calls, bounded by max_iterations
	Nudges    int                 `json:"nudges,omitempty"`
	Heard     int                 `json:"heard,omitempty"`    // how often new guidance made it continue after its final reply
	Letters   int                 `json:"letters,omitempty"`  // messages from people to the agent itself
	Provider  int                 `json:"provider,omitempty"` // index of the one in use
	Model     string              `json:"model,omitempty"`    // that answered last
	Quick     bool                `json:"quick,omitempty"`    // the model is known to answer within milliseconds
	Listed    bool                `json:"listed,omitempty"`
	ListedAt  time.Time           `json:"listed_at,omitzero"`
	Unlisted  []string            `json:"unlisted,omitempty"` // servers that did not answer
	Missing   []record.NotChecked `json:"missing,omitempty"`  // servers without a catalogue at the last model call with tools
	Repaired  bool                `json:"repaired,omitempty"` // it was asked once to correct a violation of its contract
	Usage     agent.Usage         `json:"usage"`
	Inputs    []activities.Input  `json:"inputs,omitempty"` // for the next model call
	Deadline  deadline            `json:"deadline"`
	// PausedUntil is when the agent's own pause of its heartbeats ends.
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// Orchestration is set once the agent dispatches others.
	Orchestration *orchestrationState `json:"orchestration,omitempty"`
	// Asked holds the questions that people put before they decide on a call.
	Asked []asked `json:"asked,omitempty"`
	// Seen marks the last reply and the results since: see activities.Ref.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// agentRun is one execution, of any pattern.
type agentRun struct {
	in       AgentInput
	state    agentState
	steering Steering
	watch    *watch
	signals  *signals
	doing    string
	refused  []string // why signals were not delivered
	noticed  notices

	approvals    approvals
	fault        *CallFault // of the last failed call
	servers      serverWaits
	sleeping     bool
	limit        *Limit // the bound that the agent waits at
	reserve      bool   // only the reserved final reply may still be made
	waitReporter waitReporter
	behind       error // of type ErrorStoreBehind; set: no more calls
	turns        bool  // it works turn by turn, in a conversation
	before       int   // iterations of earlier turns
	from         int   // first iteration of a conversation that the model sees; 0 means all
	skipped      int   // turns before it
	model        modelCalls

	orchestration *orchestration // nil: the agent cannot dispatch others
	listing       listing
}

// newAgentRun returns the run of an execution that begins, or that continues where an earlier run stopped.
func newAgentRun(in AgentInput) *agentRun {
	leaveNewer(in.PlanVersion)
	run := &agentRun{in: in, steering: in.Steering, reserve: in.Reserve}
	run.model, run.approvals.run = modelCalls{run: run, canEnd: true}, run
	if in.Continued != nil {
		run.state = *in.Continued
	} else {
		run.state.Deadline.Remaining, run.state.Seen = in.Agent.Timeouts.Agent.D(), in.Ref.Seen
	}
	return run
}

// execute serves signals and runs the pattern's loop under the agent's deadline.
func (r *agentRun) execute(ctx workflow.Context, loop func(workflow.Context) (AgentResult, error)) (AgentResult, error) {
	r.watch = newWatch(ctx)
	if r.in.Agent.Orchestrator == nil {
		r.signals = listen(ctx)
	} else {
		r.signals = listen(ctx, SignalWaiting)
		r.orchestration = newOrchestration(ctx, r)
	}
	r.signals.trail = r.trail()
	if r.steering.Sleep > 0 {
		r.sleepFor(ctx, r.steering.Sleep)
		r.steering.Sleep = 0 // once, not again in the next run
	}
	options := workflow.QueryHandlerOptions{Description: "What the agent is doing now."}
	if err := workflow.SetQueryHandlerWithOptions(ctx, QueryStatus, r.status, options); err != nil {
		return AgentResult{}, err
	}
	if err := r.approvals.serveDecisions(ctx); err != nil {
		return AgentResult{}, err
	}
	r.waitReporter = waitReporter{waiting: r.waiting, many: r.orchestration != nil}
	if stage := r.in.Ref.Stage; stage != plan.ScoringStage && stage != plan.LearningStage { // these outlive the investigation
		r.waitReporter.serve(ctx, r.watch, r.in.Ref.Execution)
	}
	if r.in.Agent.Mock {
		loop = r.mocked
	}
	result, err := r.bounded(ctx, "agent timeout", loop)
	if err != nil {
		return result, err
	}
	r.listing.stop()
	r.recordDecided(ctx)
	r.orchestration.dismiss(ctx)
	r.signals.awaitHandled(ctx)
	result.Undelivered = r.refused
	if o := r.orchestration; o != nil {
		result.Subs, result.SubUsage = o.state.Ended, o.state.Usage
	}
	result.Iterations, result.Model, result.Usage = r.state.Iteration, r.state.Model, r.state.Usage
	result.Seen, result.NotChecked = r.state.Seen, r.notChecked()
	return ending(result.Status, result, result.Error, result.ErrorType)
}

// bounded runs the loop under the agent's deadline. It returns an error only to continue
// the workflow as new.
func (r *agentRun) bounded(ctx workflow.Context, what string, loop func(workflow.Context) (AgentResult, error)) (AgentResult, error) {
	work, cancel := r.state.Deadline.start(ctx, r.watch, bound{what: what, held: r.held})
	defer cancel()
	if !r.turns { // a conversation serves its own signals
		if err := r.signals.serve(work, r.watch, r); err != nil {
			return AgentResult{}, err
		}
	}
	result, err := loop(work)
	if err == nil || workflow.IsContinueAsNewError(err) {
		return result, err
	}
	result = r.stopped(work, err)
	if r.hasLastWord(ctx, result) {
		result = r.haveLastWord(ctx, result)
	}
	return result, nil
}

// hasLastWord reports whether the agent may make one reserved call, because a bound or its own
// timeout stopped it in the middle of its work.
func (r *agentRun) hasLastWord(ctx workflow.Context, stopped AgentResult) bool {
	cut := stopped.StopReason == agent.StopBound || stopped.StopReason == agent.StopTimedOut
	return cut && ctx.Err() == nil && r.state.Usage.ModelCalls > 0
}

// haveLastWord makes the agent conclude from its findings. If that fails, it returns the result
// of the stopped agent.
func (r *agentRun) haveLastWord(ctx workflow.Context, stopped AgentResult) AgentResult {
	r.reserve = true
	limit := r.in.Agent.Timeouts.Agent
	if stopped.StopReason == agent.StopBound {
		limit = 0
	}
	patience := deadline{Remaining: timeToConclude(r.in.Agent.Timeouts.Conclude, limit)}
	work, cancel := patience.start(ctx, r.watch, bound{what: "last word", held: r.steering.still})
	defer cancel()
	why := activities.Input{Kind: activities.InputBound, Text: string(stopped.StopReason)}
	said, err := r.conclude(work, why, stopped.StopReason)
	if isBehind(err) {
		return r.failed(failure(err))
	}
	if err != nil || said.Status != agent.StatusCompleted {
		return stopped
	}
	said.Bound, said.Error = stopped.Bound, stopped.Error
	return said
}

// conclude asks the model for its best conclusion from the findings, without tools.
func (r *agentRun) conclude(ctx workflow.Context, why activities.Input, reason agent.StopReason) (AgentResult, error) {
	r.orchestration.conclude(ctx)
	r.state.Inputs = append(r.state.Inputs, why)
	for {
		out, err := r.generate(ctx, true)
		if err != nil {
			return AgentResult{}, err
		}
		if !out.Other && !r.repeatRequest(out) && !r.guidanceArrived(out) {
			return r.completed(out, reason), nil
		}
	}
}

// held reports whether the agent's clock is stopped: it sleeps, or waits for people or a provider.
func (r *agentRun) held() bool { return r.steering.still() || !r.waiting().empty() }

// waiting returns everything that the agent and its sub-agents wait for.
func (r *agentRun) waiting() Waiting { return r.ownWaiting().and(r.orchestration.waiting()) }

// ownWaiting returns everything that the agent itself waits for.
func (r *agentRun) ownWaiting() Waiting {
	w := Waiting{Approvals: r.approvals.open()}
	if o := r.model.outage(); o != nil {
		w.Outages = []Outage{*o}
	}
	w.Outages = append(w.Outages, r.servers.outages()...)
	if r.limit != nil {
		w.Limits = []Limit{*r.limit}
	}
	if r.sleeping {
		w.Asleep = []Asleep{{Agent: r.in.Agent.Name, Until: r.state.PausedUntil}}
	}
	return w
}

// refuse says why the agent cannot accept a signal. It returns an empty string if it can.
func (r *agentRun) refuse(sig signal) string {
	stage := r.in.Ref.StageRun()
	switch {
	case !sig.names(r.in.Agent), sig.Stage != "" && sig.Stage != stage:
		return fmt.Sprintf("%s: this is agent %s of stage %s", sig.Name, r.in.Agent.Name, stage)
	case sig.heartbeats() && !sig.isFor(r.in.Agent):
		return sig.Name + ": the agent's type has no heartbeats"
	}
	return ""
}

// handle applies a signal.
func (r *agentRun) handle(ctx workflow.Context, sig signal) (t Taken, why string) {
	t.For = []string{sig.execution(r.in.Ref.StageRun(), r.in.Agent)}
	if sig.Name == SignalGuide {
		return t, r.guide(ctx, sig)
	}
	if sig.Agent == "" || sig.Agent == r.in.Agent.Name {
		r.steer(ctx, sig)
	} else if !r.orchestration.forward(ctx, sig) && !sig.Mail { // with Mail, the guidance is in the mailbox already
		return Taken{}, fmt.Sprintf("%s: agent %s is not running, or does not support this", sig.Name, sig.Agent)
	}
	return t, ""
}

// steer applies a signal to the agent and forwards it to its sub-agents.
func (r *agentRun) steer(ctx workflow.Context, sig signal) {
	switch sig.Name {
	case SignalPauseHeartbeats:
		if r.in.Agent.Heartbeats {
			r.sleepFor(ctx, sig.Minutes)
		}
	case SignalResumeHeartbeats:
		r.wake()
		if sig.Mail {
			r.orchestration.hasNews()
		}
	default:
		r.steering.apply(sig)
	}
	r.orchestration.forward(ctx, sig)
}

// guide puts guidance for the agent, or for an agent that it dispatched, into the mail.
func (r *agentRun) guide(ctx workflow.Context, sig signal) (why string) {
	r.state.Letters++
	sig.Agent = cmp.Or(sig.Agent, r.in.Agent.Name)
	why = sig.post(ctx, activities.PostIn{
		Investigation: r.in.Ref.Investigation, Plan: r.in.Ref.Plan, Source: r.in.Ref.Execution, Ordinal: r.state.Letters,
		Stages: []string{r.in.Ref.StageRun()},
	})
	switch {
	case why != "":
	case sig.Agent == r.in.Agent.Name:
		r.wake()
		r.orchestration.hasNews()
	default:
		r.orchestration.forward(ctx, sig.wake(true))
	}
	return why
}

// undelivered records why a signal was not delivered, and adds a notice to the transcript before
// the next model call.
func (r *agentRun) undelivered(ctx workflow.Context, why string) {
	r.refused = newest(append(r.refused, why), maxErrors)
	if r.noticed < maxNotices {
		r.noticed++
		r.state.Inputs = append(r.state.Inputs, activities.Input{Kind: activities.InputNotice, Text: "not delivered: " + why})
	}
	r.note(ctx, r.doing)
}

// maxGuidanceTurns bounds how often new guidance makes an agent continue. Later messages are left to other
// agents, or reported as unread.
const maxGuidanceTurns = 20

// guidanceArrived reports whether the agent must continue because guidance arrived during its last model call.
// It returns false if that call was the reserved one.
func (r *agentRun) guidanceArrived(out activities.GenerateOut) bool {
	if !out.Unread || r.reserve || r.state.Heard >= maxGuidanceTurns {
		return false
	}
	r.state.Heard++
	return true
}

// awaitResume handles pending signals and waits while the agent is paused.
func (r *agentRun) awaitResume(ctx workflow.Context) error {
	r.signals.awaitHandled(ctx)
	if r.steering.still() {
		r.note(ctx, "paused")
	}
	return workflow.Await(ctx, func() bool { return !r.steering.still() })
}

// completed returns the result of an agent after its final reply.
func (r *agentRun) completed(out activities.GenerateOut, reason agent.StopReason) AgentResult {
	if out.Empty && out.Earlier == "" {
		how := cmp.Or(string(out.NoReport), "empty")
		return r.failed(activities.ErrorEmptyReply, cmp.Or(out.Partial, fmt.Sprintf("the model's reply was %s %d times", how, r.state.Nudges+1)))
	}
	if out.Invalid != "" && !out.Stands {
		return r.failed(activities.ErrorInvalidOutput, out.Invalid)
	}
	result := AgentResult{Status: agent.StatusCompleted, StopReason: reason, Outcome: agent.OutcomeSuccess, Preview: out.Preview}
	result.ActionsExecuted = out.ActionsExecuted
	if out.Empty { // the activity decides this, so older workflows never get here
		result.Preview, out.Partial = out.Earlier, cmp.Or(out.Partial, activities.EarlierStands)
	}
	if result.Outside = out.Invalid; out.Invalid != "" {
		out.Partial = cmp.Or(out.Partial, "the output does not meet the contract: "+out.Invalid)
	}
	if result.Partial = out.Partial; out.Partial != "" {
		result.Outcome = agent.OutcomePartial
	}
	if reason != agent.StopEndTurn {
		result.Forced, result.Outcome = true, agent.OutcomePartial
	}
	return result
}

func (r *agentRun) failed(errorType, message string) AgentResult {
	return AgentResult{
		Status: agent.StatusFailed, StopReason: agent.StopFailed, Outcome: agent.OutcomeError,
		ErrorType: errorType, Error: clip.Text(message, 1000),
	}
}

// stopped returns the result of an agent whose loop ended with an error.
func (r *agentRun) stopped(ctx workflow.Context, err error) AgentResult {
	var reached boundReached
	switch {
	case isBehind(err):
		return r.failed(failure(err))
	case errors.As(err, &reached): // keep the findings so far
		return AgentResult{
			Status: agent.StatusCompleted, StopReason: agent.StopBound, Outcome: agent.OutcomePartial, Forced: true, Bound: reached.bound,
		}
	case r.state.Deadline.Expired:
		message := fmt.Sprintf("the agent did not finish within %s", r.in.Agent.Timeouts.Agent)
		return AgentResult{Status: agent.StatusTimedOut, StopReason: agent.StopTimedOut, Outcome: agent.OutcomeError, Error: message}
	case ctx.Err() != nil && r.steering.Late:
		return AgentResult{Status: agent.StatusTimedOut, StopReason: agent.StopTimedOut, Outcome: agent.OutcomeError,
			Error: "the time limit was reached"}
	case ctx.Err() != nil:
		return AgentResult{Status: agent.StatusCancelled, StopReason: agent.StopCancelled, Outcome: agent.OutcomeError}
	}
	return r.failed(failure(err))
}

// note shows the agent's current work in its status and in the Temporal UI.
func (r *agentRun) note(ctx workflow.Context, doing string) {
	r.doing = doing
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("iteration %d of at most %d · %s · %s tokens so far\n%s",
		max(r.state.Iteration-r.before, 1), r.in.Agent.MaxIterations, doing, tokens(r.state.Usage),
		r.orchestration.table()+approvalList(r.approvals.open())+notDelivered(r.refused)))
}

func (r *agentRun) status() (AgentStatus, error) {
	own := r.ownWaiting()
	var outage *Outage
	if len(own.Outages) > 0 {
		outage = &own.Outages[0]
	}
	return AgentStatus{
		Execution: r.in.Ref.Execution, Status: mostUrgent(own, 0, r.steering.Paused),
		Iteration: r.state.Iteration - r.before, MaxIterations: r.in.Agent.MaxIterations,
		Model: r.in.Agent.Model(r.state.Provider), Doing: r.doing, Usage: r.state.Usage, Waiting: r.approvals.open(),
		Outage: outage, PausedUntil: r.state.PausedUntil, Undelivered: r.refused, LastFault: r.fault,
	}, nil
}

package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// act is nil: it only names activities.
var act *activities.Activities

// maxNudges is how often an agent is asked again after an empty reply.
const maxNudges = 2

// agentState is what an execution carries from one of its runs to the next.
type agentState struct {
	Iteration int                `json:"iteration"` // model calls so far: the key of the last one
	Batches   int                `json:"batches"`   // of tool calls: what max_iterations bounds
	Nudges    int                `json:"nudges,omitempty"`
	Heard     int                `json:"heard,omitempty"`    // how often its last word was not the last, because somebody spoke
	Letters   int                `json:"letters,omitempty"`  // that people have written to the agent itself
	Provider  int                `json:"provider,omitempty"` // index of the one in use
	Model     string             `json:"model,omitempty"`    // that answered last
	Quick     bool               `json:"quick,omitempty"`    // it is known to answer within milliseconds
	Listed    bool               `json:"listed,omitempty"`
	ListedAt  time.Time          `json:"listed_at,omitzero"`
	Unlisted  []string           `json:"unlisted,omitempty"` // servers that could not be asked
	Repaired  bool               `json:"repaired,omitempty"` // it was asked once more for what its contract asks for
	Usage     agent.Usage        `json:"usage"`
	Inputs    []activities.Input `json:"inputs,omitempty"` // for the next model call
	Deadline  deadline           `json:"deadline"`
	// PausedUntil is when the agent's own pause of its heartbeats is over.
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// Orchestration is set once the agent dispatches others.
	Orchestration *orchestrationState `json:"orchestration,omitempty"`
	// Asked is what people wanted to know before they decide on a call.
	Asked []asked `json:"asked,omitempty"`
	// Seen is the last reply, and the results since: see activities.Ref.
	Seen []transcript.Mark `json:"seen,omitempty"`
}

// agentRun is one execution, of either pattern.
type agentRun struct {
	in       AgentInput
	state    agentState
	steering Steering
	watch    *watch
	signals  *signals
	doing    string
	refused  []string // why signals came to nothing
	noticed  notices

	approvals approvals
	fault     *CallFault // of the call that failed last
	streak    *streak    // of failed model calls; nil = the last one was answered
	servers   serverWaits
	sleeping  bool
	limit     *Limit // that it waits at
	reserve   bool   // it has no more than its last word
	teller    teller
	asked     bool  // a model, at least once
	behind    error // of type ErrorStoreBehind: no more calls are made
	turns     bool  // it works turn by turn, in a conversation
	before    int   // iterations of earlier turns
	// settled: no lost workflow task can have gone further than the last reply, and this run may end.
	settled bool
	// listened is when a regular call of the agent last ended. A workflow task began then, with all
	// that people had said.
	listened time.Time

	orchestration *orchestration // nil: it dispatches nobody
	listing       listing
}

func newAgentRun(in AgentInput) *agentRun {
	leaveNewer(in.PlanVersion)
	run := &agentRun{in: in, steering: in.Steering, reserve: in.Reserve, settled: true}
	if in.Continued != nil {
		run.state = *in.Continued
	} else {
		run.state.Deadline.Remaining, run.state.Seen = in.Agent.Timeouts.Agent.D(), in.Ref.Seen
	}
	return run
}

// execute runs the pattern's loop under the agent's deadline, its signals served.
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
		r.steering.Sleep = 0 // in this run, not in the next one
	}
	options := workflow.QueryHandlerOptions{Description: "What the agent is doing."}
	if err := workflow.SetQueryHandlerWithOptions(ctx, QueryStatus, r.status, options); err != nil {
		return AgentResult{}, err
	}
	if err := r.serveDecisions(ctx); err != nil {
		return AgentResult{}, err
	}
	r.teller = teller{waiting: r.waiting, many: r.orchestration != nil}
	if r.in.Ref.Stage != plan.ScoringStage { // who judges outlives its parent
		r.teller.serve(ctx, r.watch, r.in.Ref.Execution)
	}
	if r.in.Agent.Mock {
		loop = r.mocked
	}
	result, err := r.bounded(ctx, "agent timeout", loop)
	if err != nil {
		return result, err
	}
	r.listing.stop()
	r.orchestration.dismiss(ctx)
	r.signals.settle(ctx)
	result.Undelivered = r.refused
	if o := r.orchestration; o != nil {
		result.Subs, result.SubUsage = o.state.Ended, o.state.Usage
	}
	result.Iterations, result.Model, result.Usage = r.state.Iteration, r.state.Model, r.state.Usage
	result.Seen = r.state.Seen
	return ending(result.Status, result, result.Error, result.ErrorType)
}

// bounded runs the loop under the agent's deadline. The only error that it returns is
// that which continues the workflow as new.
func (r *agentRun) bounded(ctx workflow.Context, what string, loop func(workflow.Context) (AgentResult, error)) (AgentResult, error) {
	work, cancel := r.state.Deadline.start(ctx, r.watch, bound{what: what, held: r.held})
	defer cancel()
	if !r.turns { // a conversation serves them itself
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

// hasLastWord: an agent that a bound or its own timeout stops in the middle of its work has
// one call in reserve.
func (r *agentRun) hasLastWord(ctx workflow.Context, stopped AgentResult) bool {
	cut := stopped.StopReason == agent.StopBound || stopped.StopReason == agent.StopTimedOut
	return cut && ctx.Err() == nil && r.state.Usage.ModelCalls > 0
}

// haveLastWord has the agent conclude from what it knows. If it cannot, the agent ends the
// way it was stopped.
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

// conclude asks for the best conclusion from what is known, without tools.
func (r *agentRun) conclude(ctx workflow.Context, why activities.Input, reason agent.StopReason) (AgentResult, error) {
	r.orchestration.conclude(ctx)
	r.state.Inputs = append(r.state.Inputs, why)
	for {
		out, err := r.generate(ctx, true)
		if err != nil {
			return AgentResult{}, err
		}
		if !out.Other && !r.again(out) && !r.heard(out) {
			return r.completed(out, reason), nil
		}
	}
}

// held: the agent waits for people or a provider, or sleeps, and its clock stands still.
func (r *agentRun) held() bool { return r.steering.still() || !r.waiting().empty() }

// waiting is what the agent and its sub-agents wait for.
func (r *agentRun) waiting() Waiting { return r.ownWaiting().and(r.orchestration.waiting()) }

// ownWaiting is what the agent itself waits for.
func (r *agentRun) ownWaiting() Waiting {
	w := Waiting{Approvals: r.approvals.open()}
	if o := r.outage(); o != nil {
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

// refuse says why the agent cannot take a signal; "" = it can.
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

// handle takes in a signal.
func (r *agentRun) handle(ctx workflow.Context, sig signal) (t Taken, why string) {
	t.For = []string{sig.execution(r.in.Ref.StageRun(), r.in.Agent)}
	if sig.Name == SignalGuide {
		return t, r.guide(ctx, sig)
	}
	if sig.Agent == "" || sig.Agent == r.in.Agent.Name {
		r.steer(ctx, sig)
	} else if !r.orchestration.forward(ctx, sig) && !sig.Mail { // mail need not wake anybody
		return Taken{}, fmt.Sprintf("%s: agent %s is not at work, or cannot do that", sig.Name, sig.Agent)
	}
	return t, ""
}

// steer does what a signal asks of the agent, and has its sub-agents do it.
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

// guide puts what somebody says to the agent itself, or to one that it has dispatched, into the mail.
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

// undelivered keeps why a signal came to nothing, and has it in the transcript, before
// the next model call.
func (r *agentRun) undelivered(ctx workflow.Context, why string) {
	r.refused = newest(append(r.refused, why), maxErrors)
	if r.noticed < maxNotices {
		r.noticed++
		r.state.Inputs = append(r.state.Inputs, activities.Input{Kind: activities.InputNotice, Text: "not delivered: " + why})
	}
	r.note(ctx, r.doing)
}

// maxHeard bounds how often an agent goes on because somebody spoke. Words that come later
// are left to other agents, or reported as read by nobody.
const maxHeard = 20

// heard: somebody spoke while the model gave its last reply, so the agent goes on, unless
// that call was its reserve.
func (r *agentRun) heard(out activities.GenerateOut) bool {
	if !out.Unread || r.reserve || r.state.Heard >= maxHeard {
		return false
	}
	r.state.Heard++
	return true
}

// hold takes in what has arrived and waits while paused.
func (r *agentRun) hold(ctx workflow.Context) error {
	r.signals.settle(ctx)
	if r.steering.still() {
		r.note(ctx, "paused")
	}
	return workflow.Await(ctx, func() bool { return !r.steering.still() })
}

// completed is the result of an agent that said its last word.
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
	if out.Empty { // decided by the activity, so workflows that began before this never come here
		result.Preview, out.Partial = out.Earlier, cmp.Or(out.Partial, activities.EarlierStands)
	}
	if result.Outside = out.Invalid; out.Invalid != "" {
		out.Partial = cmp.Or(out.Partial, "the text does not meet the contract: "+out.Invalid)
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

// stopped is the result of an agent whose loop ended with an error.
func (r *agentRun) stopped(ctx workflow.Context, err error) AgentResult {
	var reached boundReached
	switch {
	case isBehind(err):
		return r.failed(failure(err))
	case errors.As(err, &reached): // it has what it has
		return AgentResult{
			Status: agent.StatusCompleted, StopReason: agent.StopBound, Outcome: agent.OutcomePartial, Forced: true, Bound: reached.bound,
		}
	case r.state.Deadline.Expired:
		message := fmt.Sprintf("the agent did not finish within %s", r.in.Agent.Timeouts.Agent)
		return AgentResult{Status: agent.StatusTimedOut, StopReason: agent.StopTimedOut, Outcome: agent.OutcomeError, Error: message}
	case ctx.Err() != nil && r.steering.Late:
		return AgentResult{Status: agent.StatusTimedOut, StopReason: agent.StopTimedOut, Outcome: agent.OutcomeError, Error: "the time was up"}
	case ctx.Err() != nil:
		return AgentResult{Status: agent.StatusCancelled, StopReason: agent.StopCancelled, Outcome: agent.OutcomeError}
	}
	return r.failed(failure(err))
}

// note says what the agent is doing, in its status and in the Temporal UI.
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

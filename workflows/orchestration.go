package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
)

// maxDispatched bounds the sub-agents of one agent in total, independently of how many may run in parallel.
const maxDispatched = 100

// orchestration manages the sub-agents of an agent (spec: pipeline, "Orchestration"). They are child workflows of
// the agent's workflow, of the same type. Nil means that the agent cannot dispatch others.
type orchestration struct {
	*agentRun
	plan    *plan.OrchestratorSkeleton
	state   *orchestrationState
	family  family
	running []*subAgent      // in the order of their dispatch
	mail    int              // how often new guidance was announced
	looked  int              // the value of mail at the last check
	base    workflow.Context // never cancelled
	work    workflow.Context // context of the sub-agents; nil: none dispatched yet
	stop    workflow.CancelFunc
}

// orchestrationState is the state about sub-agents that one run hands to the next. No sub-agent is running then.
type orchestrationState struct {
	Dispatched int            `json:"dispatched,omitempty"`
	Ended      []AgentSummary `json:"ended,omitempty"`
	Usage      agent.Usage    `json:"usage,omitzero"` // of the ended sub-agents, including those that they dispatched
	Budget     deadline       `json:"budget,omitzero"`
}

// subAgent is a dispatched execution that has not ended.
type subAgent struct {
	*member
	name   string // of the agent, as the model knows it
	id     string // of the execution, as the model knows it
	cancel workflow.CancelFunc
}

func newOrchestration(ctx workflow.Context, run *agentRun) *orchestration {
	o := &orchestration{
		agentRun: run, plan: run.in.Agent.Orchestrator, state: run.state.Orchestration,
		family: newFamily(ctx, run.watch, run.in.Ref.Investigation),
	}
	if o.state == nil {
		o.state = &orchestrationState{Budget: deadline{Remaining: o.plan.MaxBudget.D()}}
		run.state.Orchestration = o.state
	}
	o.base, _ = workflow.NewDisconnectedContext(ctx)
	receiveWaits(ctx, run.watch, func(w Waiting) { o.storeWaits(ctx, w) })
	run.watch.whenever(o.base, func() bool { return slices.ContainsFunc(o.running, (*subAgent).ended) }, o.collect)
	return o
}

func (s *subAgent) ended() bool { return s.child.IsReady() }

// carryOut runs a model's call to an orchestration tool. The next model call records the result.
func (o *orchestration) carryOut(ctx workflow.Context, in activities.CallToolIn, call activities.Call) *activities.Input {
	out := &activities.Input{Kind: activities.InputResult, Iteration: in.Iteration, Call: in.Call, Decision: in.Decision}
	switch call.Name {
	case agent.ToolDispatchAgent:
		out.Text, out.Done = o.dispatch(ctx, in, call.Sub.Name)
	case agent.ToolCancelAgent:
		out.Text, out.Done = o.cancelOne(call.Sub.Execution)
	case agent.ToolListAgents:
		out.Text, out.Done = o.list(), true
	}
	if !out.Done {
		out.ErrorType = activities.ResultFailed
		o.fault = &CallFault{
			Tool: call.Name, Iteration: in.Iteration, ErrorType: out.ErrorType, Fault: agent.Fault{Recoverable: true},
		}
	}
	return out
}

// dispatch starts an agent, or says why it cannot.
func (o *orchestration) dispatch(ctx workflow.Context, in activities.CallToolIn, name string) (said string, done bool) {
	o.family.afterReset(ctx)
	n := slices.IndexFunc(o.plan.Agents, func(a plan.AgentSkeleton) bool { return a.Name == name })
	if n < 0 {
		return fmt.Sprintf("No agent %q to dispatch. Available agents: %s.", clip.Text(name, 100), strings.Join(o.names(), ", ")), false
	}
	if why := o.full(ctx); why != "" {
		return "No agent was dispatched: " + why, false
	}
	s, input := o.prepare(in, o.plan.Agents[n])
	if len(childID(o.in.Ref.Investigation, s.id)) > maxWorkflowID {
		return fmt.Sprintf("%s cannot be dispatched: its ID would be too long.", name), false
	}
	if o.work == nil {
		b := bound{what: "budget of sub-agents", held: o.held, warn: o.timeIsUp}
		o.work, o.stop = o.state.Budget.start(ctx, o.watch, b)
	}
	o.state.Dispatched++
	work, cancel := workflow.WithCancel(o.work)
	s.cancel = cancel
	summary := strings.TrimSuffix(s.plan.Name+" · "+s.plan.Model(0), " · ")
	s.startedAt = workflow.Now(ctx)
	input.Ref.Started = exact(s.startedAt)
	s.child = o.family.start(work, s.id, summary, IteratingAgent, input)
	o.running = append(o.running, s)
	o.changed(ctx)
	return fmt.Sprintf("Dispatched. Execution ID: %s", s.id), true
}

// full says why no agent can be dispatched now. It returns an empty string if one can.
func (o *orchestration) full(ctx workflow.Context) string {
	switch {
	case ctx.Err() != nil || o.steering.Concluding:
		return "it is time to conclude."
	case o.behind != nil:
		return "the store has lost entries of this investigation."
	case o.state.Budget.Expired:
		return fmt.Sprintf("the time for sub-agents (max_budget, %s) has run out.", o.plan.MaxBudget)
	case o.state.Dispatched >= maxDispatched:
		return fmt.Sprintf("you have already dispatched %d agents, which is the limit for one agent.", maxDispatched)
	case len(o.running) >= o.plan.MaxConcurrent:
		return fmt.Sprintf("the limit of running agents (max_concurrent_agents: %d) is reached. Wait for a result, or cancel one of them.",
			len(o.running))
	}
	return ""
}

// prepare names the next execution. Within its stage, the agent's name is its path of dispatches.
func (o *orchestration) prepare(in activities.CallToolIn, p plan.AgentSkeleton) (*subAgent, AgentInput) {
	own := fmt.Sprintf("%s-%d", p.Name, o.state.Dispatched+1)
	ref := o.ref()
	ref.Execution, ref.Sub, ref.Data = executionName(ref.Execution, own), strings.TrimPrefix(ref.Sub+"/"+p.Name, "/"), ""
	kept := ref
	kept.Seen = nil
	s := &subAgent{member: &member{ref: kept}, name: p.Name, id: ref.Execution}
	p.Name = executionName(o.in.Agent.Name, own)
	s.plan = p
	return s, AgentInput{
		Ref: ref, Agent: p, Steering: o.steering, Level: o.in.Level, PlanVersion: o.in.PlanVersion,
		Grace:      shorter(o.in.Grace/2, plan.Grace(o.in.Agent.Timeouts.Conclude, o.plan.MaxBudget)),
		Dispatched: &activities.TaskRef{Execution: o.in.Ref.Execution, Iteration: in.Iteration, Call: in.Call},
	}
}

func (o *orchestration) names() (names []string) {
	for _, a := range o.plan.Agents {
		names = append(names, a.Name)
	}
	return names
}

// cancelOne cancels an execution. id may be the last part of its ID.
func (o *orchestration) cancelOne(id string) (said string, done bool) {
	named := func(name string) bool { return name == id || strings.HasSuffix(name, "/"+id) }
	for _, s := range o.running {
		if named(s.id) {
			s.cancel()
			return fmt.Sprintf("%s is stopping.", s.id), true
		}
	}
	for _, ended := range o.state.Ended {
		if named(executionName(o.in.Ref.StageRun(), ended.Name)) {
			return fmt.Sprintf("%s has ended: %s.", id, ended.Status), false
		}
	}
	return fmt.Sprintf("You have no agent with the execution ID %q. Use list_agents to see all.", clip.Text(id, 100)), false
}

// list describes the state of all dispatched agents for the model.
func (o *orchestration) list() string {
	lines := []string{fmt.Sprintf("Agents dispatched: %d, running: %d (at most %d at the same time).",
		o.state.Dispatched, len(o.running), o.plan.MaxConcurrent)}
	for _, s := range o.summaries() {
		lines = append(lines, fmt.Sprintf("- %s: %s", executionName(o.in.Ref.StageRun(), s.Name), s.Status))
	}
	return strings.Join(lines, "\n")
}

// summaries returns all agents dispatched directly or through sub-agents.
func (o *orchestration) summaries() []AgentSummary {
	if o == nil {
		return nil
	}
	return append(slices.Clone(o.state.Ended), o.atWork()...)
}

// table lists the sub-agents as Markdown, for the Temporal UI.
func (o *orchestration) table() string {
	all := o.summaries()
	if len(all) == 0 {
		return ""
	}
	return "\n" + agentTable(newest(all, maxSubRows))
}

// atWork returns the running sub-agents, including those that they dispatched.
func (o *orchestration) atWork() (out []AgentSummary) {
	for _, s := range o.running {
		out = append(append(out, s.summary(o.in.Ref.Investigation)), s.waiting.Subs...)
	}
	return out
}

// storeWaits stores the reported waits of a sub-agent.
func (o *orchestration) storeWaits(ctx workflow.Context, w Waiting) {
	for _, s := range o.running {
		if s.id == w.Execution && !s.ended() {
			s.waiting = w.after(s.waiting)
			o.changed(ctx)
		}
	}
}

// waiting returns the waits of the sub-agents and lists the running ones.
func (o *orchestration) waiting() (out Waiting) {
	if o == nil {
		return out
	}
	for _, s := range o.running {
		out = out.and(s.waiting)
	}
	out.Subs = o.atWork()
	return out
}

// afterReset cancels sub-agents that this run does not know, because a run before the reset dispatched them.
func (o *orchestration) afterReset(ctx workflow.Context) {
	if o != nil {
		o.family.afterReset(ctx)
	}
}

// collect adds the results of ended sub-agents to the inputs of the next model call.
func (o *orchestration) collect(ctx workflow.Context) {
	for _, s := range slices.Clone(o.running) {
		if !s.ended() {
			continue
		}
		s.result, s.closed, s.endedAt = resultOf(ctx, s.child), true, workflow.Now(ctx)
		s.waiting = Waiting{}
		o.record(ctx, s)
		o.running = slices.DeleteFunc(o.running, func(other *subAgent) bool { return other == s })
		summary := s.summary(o.in.Ref.Investigation)
		summary.Error, summary.WorkflowID = "", "" // the store has them
		o.state.Ended = append(append(o.state.Ended, summary), s.result.Subs...)
		o.state.Usage = o.state.Usage.Add(s.result.whole())
		o.saw(s.result.Seen...)
		o.noteSubBehind(s.result)
		o.refused = newest(append(o.refused, s.result.Undelivered...), maxErrors)
		o.agentRun.state.Inputs = append(o.agentRun.state.Inputs, activities.Input{Kind: activities.InputSubAgent, Sub: &activities.SubEnded{
			Name: s.name, Execution: s.id, Status: s.result.Status, Error: clip.Text(s.result.Error, 300),
		}})
		o.changed(ctx)
	}
}

// record stores how an execution ended. A failure to store it does not fail the investigation.
func (o *orchestration) record(ctx workflow.Context, s *subAgent) {
	in := activities.SaveExecutionIn{Execution: s.saved(), Started: s.startedAt, Ended: s.endedAt}
	if err := storeStep(ctx, "sub-agent "+s.id, act.SaveExecution, in, nil); err != nil {
		workflow.GetLogger(ctx).Warn("a sub-agent's end is not recorded", "execution", s.id, "error", err)
	}
}

// changed reports to people and to the parent that a sub-agent was dispatched, has ended, or waits for something else.
func (o *orchestration) changed(ctx workflow.Context) {
	o.waitReporter.changed()
	o.note(ctx, o.doing)
}

// idle reports that no sub-agent is running.
func (o *orchestration) idle() bool { return o == nil || len(o.running) == 0 }

// due reports that there are results that the model has not seen.
func (o *orchestration) due() bool {
	isResult := func(in activities.Input) bool { return in.Kind == activities.InputSubAgent }
	return o != nil && slices.ContainsFunc(o.agentRun.state.Inputs, isResult)
}

// await waits for a result, for guidance, or for a request to conclude.
func (o *orchestration) await(ctx workflow.Context) {
	o.note(ctx, "waiting for sub-agents")
	wanted := func() bool { return o.due() || o.idle() || o.steering.Concluding || o.behind != nil }
	for {
		err := workflow.Await(ctx, func() bool { return wanted() || o.mail > o.looked })
		if err != nil || wanted() || o.hasMail(ctx) {
			return
		}
	}
}

// hasNews records that there may be guidance for the agent itself.
func (o *orchestration) hasNews() {
	if o != nil {
		o.mail++
	}
}

// hasMail reports whether the next model call would read guidance. The last call may already have read the announced one.
func (o *orchestration) hasMail(ctx workflow.Context) bool {
	o.looked = o.mail
	var out activities.HasMailOut
	in := activities.HasMailIn{Ref: o.in.Ref, Iteration: o.agentRun.state.Iteration + 1}
	if err := storeStep(ctx, "guidance", act.HasMail, in, &out); err != nil {
		workflow.GetLogger(ctx).Warn("cannot tell whether there is guidance", "error", err)
		return false
	}
	return out.Unread
}

// awaitSubAgents waits for all sub-agents before the agent continues as new. It returns early if the agent must conclude.
func (o *orchestration) awaitSubAgents(ctx workflow.Context) error {
	o.note(ctx, "waiting for sub-agents before continuing as new")
	return workflow.Await(ctx, func() bool { return o.idle() || o.steering.Concluding || o.behind != nil })
}

// timeIsUp asks all sub-agents to conclude, and returns how long they have.
func (o *orchestration) timeIsUp() time.Duration {
	workflow.Go(o.base, func(ctx workflow.Context) { o.forward(ctx, signal{Name: SignalConclude, Late: true}) })
	return timeToConclude(o.in.Agent.Timeouts.Conclude, o.plan.MaxBudget)
}

// forward sends a signal to the running sub-agents that it addresses, and reports whether there were any.
func (o *orchestration) forward(ctx workflow.Context, sig signal) (some bool) {
	if o == nil {
		return false
	}
	if sig.Agent == o.in.Agent.Name {
		sig.Agent = "" // signals to an agent also apply to its sub-agents
	}
	sig.SentOn = o.in.Level >= activities.LevelDirect
	for _, s := range slices.Clone(o.running) {
		if !s.ended() && sig.isFor(s.plan) {
			some = s.child.signal(ctx, sig) || some
		}
	}
	return some
}

// conclude ends all sub-agents before the agent's final reply. If people or the time limit have asked them to
// conclude, they get some time for it first.
func (o *orchestration) conclude(ctx workflow.Context) {
	if o.idle() {
		return
	}
	if o.steering.Concluding {
		wait := subLastWord
		if o.steering.Late && o.in.Grace > 0 { // half of it is reserved for the agent itself
			wait = min(wait, o.in.Grace.D()/2)
		}
		options := workflow.AwaitOptions{Timeout: wait, TimerOptions: workflow.TimerOptions{Summary: "last results of sub-agents"}}
		_, _ = workflow.AwaitWithOptions(ctx, options, o.idle)
	}
	o.dismiss(ctx)
}

// dismiss cancels all sub-agents and waits until they have ended.
func (o *orchestration) dismiss(ctx workflow.Context) {
	o.afterReset(ctx)
	if o.idle() {
		return
	}
	o.stop()
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	_ = workflow.Await(ctx, o.idle)
}

// resultOf returns the result of an ended agent.
func resultOf(ctx workflow.Context, child *child) AgentResult {
	result, ok, err := outcomeOf[AgentResult](ctx, child)
	switch {
	case ok:
		return result
	case temporal.IsCanceledError(err): // before it started
		return AgentResult{Status: agent.StatusCancelled, StopReason: agent.StopCancelled}
	}
	errorType, message := failure(err)
	return AgentResult{Status: agent.StatusFailed, StopReason: agent.StopFailed, ErrorType: errorType, Error: clip.Text(message, 500)}
}

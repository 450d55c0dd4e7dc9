package workflows

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Stage runs the agents of one stage in parallel, waits for all of them, and
// runs the synthesis (spec: pipeline, "Stage").
func Stage(ctx workflow.Context, in StageInput) (StageResult, error) {
	leaveNewer(in.PlanVersion)
	watch := newWatch(ctx)
	run := stageRun{in: in, seen: in.Seen, steering: in.Steering, watch: watch, family: newFamily(ctx, watch, in.Investigation)}
	run.deadline.Remaining = in.Stage.Timeout.D()
	return run.execute(ctx)
}

type stageRun struct {
	in           StageInput
	steering     Steering
	watch        *watch
	deadline     deadline
	family       family
	started      time.Time
	agents       []*member
	result       StageResult
	waitReporter waitReporter
	early        []signal            // signals that came before the agents
	cancel       workflow.CancelFunc // of the agents' work
	letters      int                 // messages from people to the stage itself
	notices      notices
	refused      []string          // why signals were not delivered
	reviewed     string            // the execution that reviewed the result
	seen         []transcript.Mark // see activities.Ref
}

// member is an agent of the stage and its execution.
type member struct {
	plan    plan.AgentSkeleton
	ref     activities.Ref
	child   *child
	result  AgentResult
	closed  bool
	waiting Waiting // what it waits for

	startedAt, endedAt time.Time // of its workflow
}

func (r *stageRun) execute(ctx workflow.Context) (StageResult, error) {
	r.started = workflow.Now(ctx)
	signals := listen(ctx, SignalWaiting)
	signals.trail = r.trail()
	r.waitReporter = waitReporter{waiting: r.waiting, many: true}
	r.waitReporter.serve(ctx, r.watch, r.in.Stage.Name)
	receiveWaits(ctx, r.watch, func(w Waiting) { r.storeWaits(ctx, w) })
	held := func() bool { return r.steering.still() || !r.waiting().empty() }
	var work workflow.Context
	work, r.cancel = r.deadline.start(ctx, r.watch, bound{what: "stage timeout", held: held, warn: func() time.Duration {
		signals.timeIsUp()
		return r.timeToConclude()
	}})
	if err := signals.serve(ctx, r.watch, r); err != nil {
		return r.result, err
	}
	if r.preProcess(work) {
		for n, p := range r.in.Stage.Agents {
			r.agents = append(r.agents, r.launch(work, n, p, nil))
		}
		r.early = nil
		r.wait(ctx, r.agents)
		r.judge()
	}
	r.cancel()
	switch {
	case r.result.Status != agent.StatusCompleted:
	case ctx.Err() != nil: // results so far are kept, but no new agent starts
		r.result.Status, r.result.Outcome = agent.StatusCancelled, agent.OutcomeError
	case r.in.Stage.Synthesis != nil && (r.result.Bound == "" || r.said() > 1):
		r.synthesise(ctx)
	}
	r.postProcess(ctx)
	if r.in.Stage.Review != nil && ctx.Err() == nil && r.result.Status == agent.StatusCompleted && r.result.Bound == "" {
		r.review(ctx)
	}
	cleanup, _ := workflow.NewDisconnectedContext(ctx)
	r.family.afterReset(ctx)
	signals.awaitHandled(cleanup) // saving the stage releases unread messages
	if err := r.save(cleanup); err != nil {
		r.notSaved(err)
	} else {
		signals.awaitHandled(cleanup)
	}
	r.result.Undelivered = r.refused
	message := fmt.Sprintf("stage %s: %s", r.in.Stage.Name, r.result.Error)
	return ending(r.result.Status, r.result, message, r.result.ErrorType)
}

// timeToConclude is how long the agents have to conclude after the stage's time limit.
func (r *stageRun) timeToConclude() time.Duration {
	return timeToConclude(r.in.Conclude, r.in.Stage.Timeout)
}

// launch starts an execution and passes on earlier signals.
func (r *stageRun) launch(ctx workflow.Context, n int, p plan.AgentSkeleton, peers []activities.Peer) *member {
	r.family.afterReset(ctx)
	m := &member{plan: p, startedAt: workflow.Now(ctx), ref: activities.Ref{
		Investigation: r.in.Investigation, Execution: executionName(r.in.Stage.Name, p.Name),
		Plan: r.in.Plan, Data: r.in.Data, Stage: r.in.Index, Agent: n, Started: exact(workflow.Now(ctx)),
	}}
	steering := r.steering
	for _, sig := range r.early {
		if !sig.isFor(p) {
			continue
		}
		if steering.apply(sig); sig.heartbeats() {
			steering.Sleep = sig.Minutes
		}
	}
	ref := m.ref
	ref.Seen = r.seen
	input := AgentInput{
		Ref: ref, Agent: p, Prior: r.in.Prior, Earlier: r.in.Earlier, Notes: r.in.Notes, Peers: peers,
		Steering: steering, Reserve: r.in.Reserve || r.result.Bound != "", Level: r.in.Level,
		PlanVersion: r.in.PlanVersion, Grace: r.in.Grace,
	}
	if limit := r.in.Stage.Timeout; limit > 0 {
		input.Grace = shorter(input.Grace, plan.Grace(r.in.Conclude, limit))
	}
	summary := strings.TrimSuffix(p.Name+" · "+p.Model(0), " · ")
	m.child = r.family.start(ctx, m.ref.Execution, summary, agentWorkflow(p.Pattern), input)
	return m
}

// wait reads the results of all members, in the order in which they end.
func (r *stageRun) wait(ctx workflow.Context, members []*member) {
	ctx, _ = workflow.NewDisconnectedContext(ctx) // a cancelled child still reports its result
	r.note(ctx)
	ended := func(m *member) bool { return m.child.IsReady() && !m.closed }
	for range members {
		_ = workflow.Await(ctx, func() bool { return slices.ContainsFunc(members, ended) })
		m := members[slices.IndexFunc(members, ended)]
		r.close(ctx, m)
		if r.behind() != nil {
			r.cancel()
		}
		r.note(ctx)
		r.recordEnd(ctx, m)
	}
}

// versionRecordEnd marks the change that records an agent's end before the stage ends.
const versionRecordEnd = "2026-11-25-record-the-end-of-agents"

// recordEnd records how an agent ended while other agents of its stage are running. The last ones are recorded with the
// stage.
func (r *stageRun) recordEnd(ctx workflow.Context, m *member) {
	atWork := func(other *member) bool { return !other.closed }
	if !slices.ContainsFunc(r.agents, atWork) {
		return
	}
	if workflow.GetVersion(ctx, versionRecordEnd, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	in := activities.SaveExecutionIn{Execution: m.saved(), Started: exact(m.startedAt), Ended: exact(m.endedAt)}
	if err := storeStep(ctx, "end of "+m.plan.Name, act.SaveExecution, in, nil); err != nil {
		workflow.GetLogger(ctx).Warn("an agent's end was not recorded before its stage's end", "execution", m.ref.Execution, "error", err)
	}
}

// note shows the stage's progress in the Temporal UI.
func (r *stageRun) note(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, agentTable(r.summaries())+notDelivered(r.refused))
}

func (r *stageRun) close(ctx workflow.Context, m *member) {
	result := resultOf(ctx, m.child)
	late := r.deadline.Expired || r.steering.Late
	if late && (result.Status == agent.StatusCancelled || result.Status == agent.StatusTimedOut) {
		result.Status, result.StopReason = agent.StatusTimedOut, agent.StopTimedOut
		result.Error = cmp.Or(result.Error, "the time limit was reached")
	}
	if r.deadline.Expired && result.Status == agent.StatusTimedOut {
		result.Error = fmt.Sprintf("the stage did not finish within %s", r.in.Stage.Timeout)
	}
	if r.behind() != nil && result.Status == agent.StatusCancelled {
		result.Error = cmp.Or(result.Error, "stopped, because another agent found that the store has lost entries")
	}
	m.result, m.closed, m.waiting, m.endedAt = result, true, Waiting{}, workflow.Now(ctx)
	r.waitReporter.changed()
	r.refused = newest(append(r.refused, result.Undelivered...), maxErrors)
	r.result.Usage = r.result.Usage.Add(result.whole())
	r.seen = addSeen(r.seen, result.Seen...)
}

// storeWaits stores the reported waits of an agent.
func (r *stageRun) storeWaits(ctx workflow.Context, w Waiting) {
	before := jsonOf(r.waiting())
	for _, m := range r.agents {
		if m.ref.Execution == w.Execution && !m.closed {
			m.waiting = w.after(m.waiting)
		}
	}
	r.note(ctx)
	if !bytes.Equal(before, jsonOf(r.waiting())) {
		r.waitReporter.changed()
	}
}

// waiting returns everything that the agents wait for.
func (r *stageRun) waiting() (out Waiting) {
	for _, m := range r.agents {
		out = out.and(m.waiting)
	}
	if out.Ended = r.ended(); len(out.Ended) == len(r.agents) {
		out.Ended = nil // the stage's result has them
	}
	return out
}

// ended returns the agents that have ended, without their errors, which the parent gets with the stage's result.
func (r *stageRun) ended() (out []AgentSummary) {
	for _, s := range r.summaries() {
		if s.Status != agent.StatusRunning && !strings.Contains(s.Name, "/") { // sub-agents are reported by their own parent
			s.Error = ""
			out = append(out, s)
		}
	}
	return out
}

// judge applies the success policy to the agents' results.
func (r *stageRun) judge() {
	if m := r.behind(); m != nil {
		r.failAs(m)
		return
	}
	var done []*member
	for _, m := range r.agents {
		if m.result.Status == agent.StatusCompleted {
			done = append(done, m)
		}
	}
	// An agent that finished comes before those that were stopped or cut.
	slices.SortStableFunc(done, func(a, b *member) int {
		return cmp.Or(cmp.Compare(len(a.result.Bound), len(b.result.Bound)), cmp.Compare(len(a.result.Partial), len(b.result.Partial)))
	})
	if len(done) > 0 {
		r.result.Result, r.result.Bound = done[0].ref.Execution, done[len(done)-1].result.Bound
	}
	if len(done) == len(r.agents) || len(done) > 0 && r.in.Stage.SuccessPolicy != plan.SuccessAll {
		r.result.Status, r.result.Outcome, r.result.Partial = agent.StatusCompleted, done[0].result.Outcome, done[0].result.Partial
		r.result.Outside = done[0].result.Outside
		return
	}
	r.fail()
}

// said counts the completed agents that called a model.
func (r *stageRun) said() (n int) {
	for _, m := range r.agents {
		if m.result.Status == agent.StatusCompleted && m.result.Usage.ModelCalls > 0 {
			n++
		}
	}
	return n
}

// fail names the failure: a uniform one is kept, a mixed one is "failed".
func (r *stageRun) fail() {
	var messages []string
	r.result.Outcome = agent.OutcomeError
	for _, m := range r.agents {
		status := m.result.Status
		if status == agent.StatusCompleted {
			continue
		}
		if r.result.Status == "" {
			r.result.Status = status
		}
		if r.result.Status != status {
			r.result.Status = agent.StatusFailed
		}
		if r.result.ErrorType == "" {
			r.result.ErrorType = m.result.ErrorType
		}
		messages = append(messages, fmt.Sprintf("%s %s: %s", m.plan.Name, status, cmp.Or(m.result.Error, string(m.result.StopReason))))
	}
	r.result.Error = clip.Text(strings.Join(messages, "; "), 2000)
}

// peers returns the agents that have run in the stage so far.
func (r *stageRun) peers() (all []activities.Peer) {
	for _, m := range r.agents {
		all = append(all, activities.Peer{
			Execution: m.ref.Execution, Agent: m.plan.Name, Status: m.result.Status, Error: clip.Text(m.result.Error, 500),
		})
	}
	return all
}

// follow runs an agent on the results of the others.
func (r *stageRun) follow(ctx workflow.Context, index int, p plan.AgentSkeleton, peers []activities.Peer) *member {
	if r.deadline.Expired && r.in.Conclude > 0 {
		p.Timeouts.Agent = shorter(p.Timeouts.Agent, plan.Duration(r.timeToConclude()))
	}
	m := r.launch(ctx, index, p, peers)
	r.agents = append(r.agents, m)
	r.waitReporter.changed()
	r.wait(ctx, []*member{m})
	return m
}

// review runs the reviewing agent on the stage's result, which the post_process may have changed. The result is the last
// item in its prompt. Saving the stage reads the verdict.
func (r *stageRun) review(ctx workflow.Context) {
	peers := r.peers()
	stands := slices.IndexFunc(peers, func(p activities.Peer) bool { return p.Execution == r.result.Result })
	if stands < 0 {
		peers = append(peers, activities.Peer{Execution: r.result.Result, Agent: r.in.Stage.PostProcess, Status: r.result.Status})
	} else {
		peers = append(slices.Delete(slices.Clone(peers), stands, stands+1), peers[stands])
	}
	reviewer := r.follow(ctx, plan.ReviewIndex, *r.in.Stage.Review, peers)
	switch {
	case reviewer.result.Bound != "": // a bound prevented its call
		r.result.Bound = reviewer.result.Bound
	case reviewer.result.Status == agent.StatusCompleted:
		r.reviewed = reviewer.ref.Execution
	default:
		r.failAs(reviewer)
	}
}

// failAs fails the stage with the failure of an agent that ran after the others.
func (r *stageRun) failAs(m *member) {
	r.result.Status, r.result.Outcome, r.result.ErrorType = m.result.Status, agent.OutcomeError, m.result.ErrorType
	r.result.Error = fmt.Sprintf("%s %s: %s", m.plan.Name, m.result.Status, m.result.Error)
}

// synthesise runs the synthesis agent. Its result becomes the stage's result.
func (r *stageRun) synthesise(ctx workflow.Context) {
	joined := r.follow(ctx, plan.SynthesisIndex, *r.in.Stage.Synthesis, r.peers())
	if joined.result.Status == agent.StatusCompleted {
		r.result.Result, r.result.Outcome, r.result.Partial = joined.ref.Execution, joined.result.Outcome, joined.result.Partial
		r.result.Outside = joined.result.Outside
		if r.result.Bound == "" {
			r.result.Bound = joined.result.Bound
		}
		return
	}
	if (r.result.Bound != "" || r.steering.Late) && r.behind() == nil {
		return // the result of one agent remains that of the stage
	}
	r.failAs(joined)
}

// save records how the stage and its executions ended.
func (r *stageRun) save(ctx workflow.Context) error {
	r.result.Started, r.result.Ended = r.started, workflow.Now(ctx)
	r.result.Agents, r.result.Seen = r.summaries(), newest(r.seen, maxSeenOn)
	in := activities.SaveStageIn{Plan: r.in.Plan, Stage: r.in.record(r.result), Review: r.reviewed, Envelope: r.in.Envelope, Seen: r.seen}
	in.Outside = r.result.Outside != ""
	in.Envelope.Answers = r.in.Notes
	for _, m := range r.agents {
		in.Executions = append(in.Executions, m.saved())
	}
	var out activities.SaveStageOut
	err := storeStep(ctx, "stage "+r.in.Stage.Name, act.SaveStage, in, &out)
	r.result.Fields, r.result.Output, r.result.Review = out.Fields, out.Output, out.Review
	if out.Outcome != "" && r.result.Status == agent.StatusCompleted {
		r.result.Outcome = out.Outcome
	}
	return err
}

package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// handle applies a signal to the investigation and forwards it to the running
// stages.
func (r *investigationRun) handle(ctx workflow.Context, sig signal) (t Taken, why string) {
	defer func() { workflow.SetCurrentDetails(ctx, statusTable(r.snapshot())) }()
	if sig.Name == SignalGuide { // the plan defines how its text is masked
		r.awaitPlan(ctx)
		if why := r.refuse(sig); why != "" {
			return t, why
		}
		return r.guide(ctx, sig)
	}
	if sig.everybody() {
		r.state.Steering.apply(sig)
	}
	for _, c := range r.concerned(sig) {
		t.For = append(t.For, c.execution)
	}
	if !r.forward(ctx, sig) && !sig.everybody() {
		return t, fmt.Sprintf("%s: %s is not running", sig.Name, sig.target())
	}
	if !sig.Late { // a time limit is not a person
		r.act(ctx, sig.steered())
	}
	return t, ""
}

// awaitPlan waits until the plan is available, or resolving it has failed.
func (r *investigationRun) awaitPlan(ctx workflow.Context) {
	_ = workflow.Await(ctx, func() bool { return r.state.Resolved.Plan != "" || r.unresolved })
}

// guide puts a person's guidance into the mail: for the running stages, else for the next
// one; guidance for one agent waits for it. It wakes sleeping agents.
func (r *investigationRun) guide(ctx workflow.Context, sig signal) (t Taken, why string) {
	r.state.Letters++
	in := activities.PostIn{Investigation: r.id, Plan: r.state.Resolved.Plan, Ordinal: r.state.Letters}
	if sig.Stage != "" {
		in.Stages = []string{sig.Stage}
	}
	for _, s := range r.running {
		if !s.child.IsReady() && sig.everybody() {
			in.Stages = append(in.Stages, s.plan.Name)
		}
	}
	if why := sig.post(ctx, in); why != "" {
		return t, why
	}
	sleeps := false
	for _, c := range r.concerned(sig) {
		if sleeps = sleeps || maySleep(c.agent) || r.wakesLeaders() && c.agent.Orchestrator != nil; readsMail(c.agent) {
			t.For = append(t.For, c.execution)
		}
	}
	if sleeps {
		r.forward(ctx, sig.wake(r.wakesLeaders()))
	}
	return t, ""
}

// wakesLeaders: guidance wakes agents that wait for their sub-agents.
func (r *investigationRun) wakesLeaders() bool { return r.state.Resolved.Level >= activities.LevelActs }

// maySleep: the agent, or one that it may dispatch, can pause its heartbeats, and be woken.
func maySleep(a plan.AgentSkeleton) bool {
	return a.Heartbeats || a.Orchestrator != nil && slices.ContainsFunc(a.Orchestrator.Agents, maySleep)
}

// readsMail: the agent asks a model, which is told what people say.
func readsMail(a plan.AgentSkeleton) bool {
	return !a.Mock && (a.Pattern == agent.Iterating || a.Pattern == agent.SingleShot)
}

// undelivered records why a signal was not delivered, in the status, the record and the
// transcript.
func (r *investigationRun) undelivered(ctx workflow.Context, why string) {
	r.keepUndelivered(why)
	workflow.SetCurrentDetails(ctx, statusTable(r.snapshot()))
	if r.awaitPlan(ctx); !r.unresolved && !r.result.Status.Closed() {
		r.state.Notices.post(ctx, activities.NoticeIn{Investigation: r.id, Plan: r.state.Resolved.Plan}, why)
	}
}

func (r *investigationRun) keepUndelivered(why string) {
	r.state.Undelivered = newest(append(r.state.Undelivered, fit(why, maxWhy)), maxErrors)
	r.refusals++
}

// maxWhy bounds a line about an undelivered signal, in bytes of JSON.
const maxWhy = 500

// forward sends a signal to the running stages that it concerns.
func (r *investigationRun) forward(ctx workflow.Context, sig signal) (delivered bool) {
	sig.SentOn = r.state.Resolved.Level >= activities.LevelDirect
	for _, s := range r.running {
		if s.child.IsReady() || !sig.concerns(s.plan) {
			continue
		}
		delivered = s.child.signal(ctx, sig) || delivered
	}
	return delivered
}

// everybody reports whether the signal is for the whole investigation.
func (s signal) everybody() bool { return s.Stage == "" && s.Agent == "" }

// concerns: the signal is for the stage, or an agent of it.
func (s signal) concerns(stage plan.StageSkeleton) bool {
	return (s.Stage == "" || s.Stage == stage.Name) && (s.Agent == "" || hasAgent(stage, s.Agent))
}

// isFor: the signal is for the agent, or one that works for it.
func (s signal) isFor(a plan.AgentSkeleton) bool {
	return s.names(a) && (!s.heartbeats() || maySleep(a) || s.Mail && a.Orchestrator != nil)
}

// names: the agent, or one that it may have dispatched, is among those that the signal is for.
func (s signal) names(a plan.AgentSkeleton) bool { return s.Agent == "" || called(a, s.Agent) }

// called: the name is the agent's, or that of one that it may have dispatched.
func called(a plan.AgentSkeleton, name string) bool {
	return a.Name == name || a.Orchestrator != nil && strings.HasPrefix(name, a.Name+"/")
}

// execution is that of the agent, or of the one below it that the signal is for.
func (s signal) execution(stage string, a plan.AgentSkeleton) string {
	return executionName(stage, cmp.Or(s.Agent, a.Name))
}

// heartbeats: the signal is for agents that have them.
func (s signal) heartbeats() bool {
	return s.Name == SignalPauseHeartbeats || s.Name == SignalResumeHeartbeats
}

// target names whom the signal is for.
func (s signal) target() string {
	switch {
	case s.Agent == "":
		return "stage " + s.Stage
	case s.Stage == "":
		return "agent " + s.Agent
	}
	return fmt.Sprintf("agent %s of stage %s", s.Agent, s.Stage)
}

// concerned is an agent at work that a signal is for.
type concerned struct {
	execution string
	agent     plan.AgentSkeleton
}

// concerned are the agents at work that a signal is for.
func (r *investigationRun) concerned(sig signal) (out []concerned) {
	for _, s := range r.running {
		if s.child.IsReady() || !sig.concerns(s.plan) {
			continue
		}
		for _, a := range s.agents() {
			_, ended := s.waiting.ended(a.Name)
			if !ended && sig.isFor(a) {
				out = append(out, concerned{sig.execution(s.plan.Name, a), a})
			}
		}
	}
	return out
}

// refuse says why a signal can be delivered neither now nor later.
func (r *investigationRun) refuse(sig signal) string {
	switch {
	case sig.Name == SignalLimits:
		return sig.Name + ": only the investigation can do this"
	case r.unresolved:
		return sig.Name + ": the investigation ended before it started"
	case r.result.Status.Closed():
		return sig.Name + ": the investigation has ended"
	case sig.everybody() && !sig.heartbeats(), len(r.state.Stages) == 0, len(r.concerned(sig)) > 0:
		return ""
	case sig.everybody():
		return sig.Name + ": no running agent has heartbeats"
	}
	runs, later := r.places(sig)
	switch {
	case later && sig.Name == SignalGuide:
		return ""
	case r.toJoin(sig):
		return fmt.Sprintf("%s: %s has not begun", sig.Name, sig.target())
	case runs && sig.heartbeats():
		return fmt.Sprintf("%s: %s is not at work, or has no heartbeats", sig.Name, sig.target())
	case runs:
		return fmt.Sprintf("%s: %s has ended", sig.Name, sig.target())
	case later:
		return fmt.Sprintf("%s: %s is not running", sig.Name, sig.target())
	case sig.Agent == "":
		return fmt.Sprintf("%s: no stage %q runs now or later", sig.Name, sig.Stage)
	}
	return fmt.Sprintf("%s: no agent %q runs now or later", sig.Name, sig.Agent)
}

// places reports whether a signal's target is in a running stage, or in one that may start
// later. Each further run of a stage has a new name.
func (r *investigationRun) places(sig signal) (runs, later bool) {
	for _, s := range r.running {
		runs = runs || !s.child.IsReady() && sig.concerns(s.plan)
		later = later || joins(s.plan, sig.Agent) && sig.concerns(s.plan)
	}
	for n, s := range r.state.Resolved.Skeleton.Stages {
		again := r.state.Runs[n] > 0 && r.chain().Routed() && sig.Stage == ""
		later = later || sig.concerns(s) && (r.state.Runs[n] == 0 || again)
	}
	return runs, later
}

// toJoin: the signal is for an agent that joins the work of others once they have ended.
func (r *investigationRun) toJoin(sig signal) bool {
	return slices.ContainsFunc(r.running, func(s *stageChild) bool {
		return !s.child.IsReady() && sig.concerns(s.plan) && joins(s.plan, sig.Agent) && len(s.waiting.Ended) < len(s.plan.Agents)
	})
}

// joins: the agent joins the work of the stage's others.
func joins(stage plan.StageSkeleton, name string) bool {
	return stage.Synthesis != nil && stage.Synthesis.Name == name || stage.Review != nil && stage.Review.Name == name
}

func hasAgent(stage plan.StageSkeleton, name string) bool {
	return joins(stage, name) || slices.ContainsFunc(stage.Agents, func(a plan.AgentSkeleton) bool { return called(a, name) })
}

// notices counts the lines that a workflow has put into the transcript itself.
type notices int

// maxNotices bounds them, so that a flood of wrong signals does not fill the transcript.
const maxNotices = 50

// post puts a line into the transcript, for people. If it cannot, the status still has it.
func (n *notices) post(ctx workflow.Context, in activities.NoticeIn, text string) {
	if *n >= maxNotices {
		return
	}
	*n++
	in.Ordinal, in.Text = int(*n), "not delivered: "+text
	if err := storeStep(ctx, "notice", act.Notice, in, nil); err != nil {
		workflow.GetLogger(ctx).Warn("a notice is not in the transcript", "error", err)
	}
}

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

// delivery delivers signals to an investigation and its running stages.
type delivery struct {
	run      *investigationRun
	refusals int
}

// handle applies a signal to the investigation and forwards it to the running
// stages.
func (d *delivery) handle(ctx workflow.Context, sig signal) (t Taken, why string) {
	defer func() { workflow.SetCurrentDetails(ctx, statusTable(d.run.view.snapshot())) }()
	if sig.Name == SignalGuide { // the plan defines how its text is masked
		d.awaitPlan(ctx)
		if why := d.refuse(sig); why != "" {
			return t, why
		}
		return d.guide(ctx, sig)
	}
	if sig.everybody() {
		d.run.state.Steering.apply(sig)
	}
	for _, c := range d.concerned(sig) {
		t.For = append(t.For, c.execution)
	}
	if !d.forward(ctx, sig) && !sig.everybody() {
		return t, fmt.Sprintf("%s: %s is not running", sig.Name, sig.target())
	}
	if !sig.Late { // a time limit is not a person
		d.run.act(ctx, sig.steered())
	}
	return t, ""
}

// awaitPlan waits until the plan is available, or resolving it has failed.
func (d *delivery) awaitPlan(ctx workflow.Context) {
	_ = workflow.Await(ctx, func() bool { return d.run.state.Resolved.Plan != "" || d.run.unresolved })
}

// guide puts a person's guidance into the mail: for the running stages, else for the next
// one; guidance for one agent waits for it. It wakes sleeping agents.
func (d *delivery) guide(ctx workflow.Context, sig signal) (t Taken, why string) {
	d.run.state.Letters++
	in := activities.PostIn{Investigation: d.run.id, Plan: d.run.state.Resolved.Plan, Ordinal: d.run.state.Letters}
	if sig.Stage != "" {
		in.Stages = []string{sig.Stage}
	}
	for _, s := range d.run.running {
		if !s.child.IsReady() && sig.everybody() {
			in.Stages = append(in.Stages, s.plan.Name)
		}
	}
	if why := sig.post(ctx, in); why != "" {
		return t, why
	}
	sleeps := false
	for _, c := range d.concerned(sig) {
		if sleeps = sleeps || maySleep(c.agent) || d.wakesLeaders() && c.agent.Orchestrator != nil; readsMail(c.agent) {
			t.For = append(t.For, c.execution)
		}
	}
	if sleeps {
		d.forward(ctx, sig.wake(d.wakesLeaders()))
	}
	return t, ""
}

// wakesLeaders reports whether guidance wakes agents that wait for their sub-agents.
func (d *delivery) wakesLeaders() bool { return d.run.state.Resolved.Level >= activities.LevelActs }

// maySleep reports whether the agent, or a sub-agent that it may dispatch, can pause its heartbeats.
func maySleep(a plan.AgentSkeleton) bool {
	return a.Heartbeats || a.Orchestrator != nil && slices.ContainsFunc(a.Orchestrator.Agents, maySleep)
}

// readsMail reports whether the agent uses a model, and so reads guidance.
func readsMail(a plan.AgentSkeleton) bool {
	return !a.Mock && (a.Pattern == agent.Iterating || a.Pattern == agent.SingleShot)
}

// undelivered records why a signal was not delivered, in the status, the record and the
// transcript.
func (d *delivery) undelivered(ctx workflow.Context, why string) {
	d.keepUndelivered(why)
	workflow.SetCurrentDetails(ctx, statusTable(d.run.view.snapshot()))
	if d.awaitPlan(ctx); !d.run.unresolved && !d.run.result.Status.Closed() {
		d.run.state.Notices.post(ctx, activities.NoticeIn{Investigation: d.run.id, Plan: d.run.state.Resolved.Plan}, why)
	}
}

func (d *delivery) keepUndelivered(why string) {
	d.run.state.Undelivered = newest(append(d.run.state.Undelivered, fit(why, maxWhy)), maxErrors)
	d.refusals++
}

// maxWhy bounds a line about an undelivered signal, in bytes of JSON.
const maxWhy = 500

// forward sends a signal to the running stages that it concerns.
func (d *delivery) forward(ctx workflow.Context, sig signal) (delivered bool) {
	sig.SentOn = d.run.state.Resolved.Level >= activities.LevelDirect
	for _, s := range d.run.running {
		if s.child.IsReady() || !sig.concerns(s.plan) {
			continue
		}
		delivered = s.child.signal(ctx, sig) || delivered
	}
	return delivered
}

// everybody reports whether the signal is for the whole investigation.
func (s signal) everybody() bool { return s.Stage == "" && s.Agent == "" }

// concerns reports whether the signal is for the stage or one of its agents.
func (s signal) concerns(stage plan.StageSkeleton) bool {
	return (s.Stage == "" || s.Stage == stage.Name) && (s.Agent == "" || hasAgent(stage, s.Agent))
}

// isFor reports whether the signal is for the agent or one of its sub-agents.
func (s signal) isFor(a plan.AgentSkeleton) bool {
	return s.names(a) && (!s.heartbeats() || maySleep(a) || s.Mail && a.Orchestrator != nil)
}

// names reports whether the signal's target includes the agent or one of its sub-agents.
func (s signal) names(a plan.AgentSkeleton) bool { return s.Agent == "" || called(a, s.Agent) }

// called reports whether a name is that of the agent or of one of its sub-agents.
func called(a plan.AgentSkeleton, name string) bool {
	return a.Name == name || a.Orchestrator != nil && strings.HasPrefix(name, a.Name+"/")
}

// execution returns the name of the execution that the signal is for: the agent's, or a sub-agent's.
func (s signal) execution(stage string, a plan.AgentSkeleton) string {
	return executionName(stage, cmp.Or(s.Agent, a.Name))
}

// heartbeats reports whether the signal is only for agents with heartbeats.
func (s signal) heartbeats() bool {
	return s.Name == SignalPauseHeartbeats || s.Name == SignalResumeHeartbeats
}

// target describes the recipient of the signal.
func (s signal) target() string {
	switch {
	case s.Agent == "":
		return "stage " + s.Stage
	case s.Stage == "":
		return "agent " + s.Agent
	}
	return fmt.Sprintf("agent %s of stage %s", s.Agent, s.Stage)
}

// concerned is a running agent that a signal is for.
type concerned struct {
	execution string
	agent     plan.AgentSkeleton
}

// concerned returns the running agents that a signal is for.
func (d *delivery) concerned(sig signal) (out []concerned) {
	for _, s := range d.run.running {
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

// refuse says why a signal can be delivered neither now nor later. It returns an empty string if it can.
func (d *delivery) refuse(sig signal) string {
	switch {
	case sig.Name == SignalLimits:
		return sig.Name + ": only the investigation can do this"
	case d.run.unresolved:
		return sig.Name + ": the investigation was refused or cancelled before its first stage"
	case d.run.result.Status.Closed():
		return sig.Name + ": the investigation has ended"
	case sig.everybody() && !sig.heartbeats(), len(d.run.state.Stages) == 0, len(d.concerned(sig)) > 0:
		return ""
	case sig.everybody():
		return sig.Name + ": no running agent has heartbeats"
	}
	runs, later := d.places(sig)
	switch {
	case later && sig.Name == SignalGuide:
		return ""
	case d.toJoin(sig):
		return fmt.Sprintf("%s: %s has not begun", sig.Name, sig.target())
	case runs && sig.heartbeats():
		return fmt.Sprintf("%s: %s is not running, or has no heartbeats", sig.Name, sig.target())
	case runs:
		return fmt.Sprintf("%s: %s has ended", sig.Name, sig.target())
	case later:
		return fmt.Sprintf("%s: %s is not running", sig.Name, sig.target())
	case sig.Agent == "":
		return fmt.Sprintf("%s: no stage %q is running or still to run", sig.Name, sig.Stage)
	}
	return fmt.Sprintf("%s: no agent %q is running or still to run", sig.Name, sig.Agent)
}

// places reports whether a signal's target is in a running stage (runs), or in one that may start later. Each further
// run of a stage has a new name.
func (d *delivery) places(sig signal) (runs, later bool) {
	for _, s := range d.run.running {
		runs = runs || !s.child.IsReady() && sig.concerns(s.plan)
		later = later || joins(s.plan, sig.Agent) && sig.concerns(s.plan)
	}
	for n, s := range d.run.state.Resolved.Skeleton.Stages {
		repeated := d.run.state.Runs[n] > 0 && d.run.chain().Routed() && sig.Stage == ""
		later = later || sig.concerns(s) && (d.run.state.Runs[n] == 0 || repeated)
	}
	return runs, later
}

// toJoin reports whether the signal is for a synthesis or a review that has not started in a running stage.
func (d *delivery) toJoin(sig signal) bool {
	return slices.ContainsFunc(d.run.running, func(s *stageChild) bool {
		return !s.child.IsReady() && sig.concerns(s.plan) && joins(s.plan, sig.Agent) && len(s.waiting.Ended) < len(s.plan.Agents)
	})
}

// joins reports whether the name is that of the stage's synthesis or review agent.
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

// refuse says why a signal cannot be for the stage or its agents.
func (r *stageRun) refuse(sig signal) string {
	switch {
	case sig.Stage != "" && sig.Stage != r.in.Stage.Name:
		return fmt.Sprintf("%s: this is stage %s", sig.Name, r.in.Stage.Name)
	case sig.Agent != "" && !hasAgent(r.in.Stage, sig.Agent):
		return fmt.Sprintf("%s: the stage has no agent %q", sig.Name, sig.Agent)
	case sig.Name != SignalGuide && joins(r.in.Stage, sig.Agent) && len(r.agents) <= len(r.in.Stage.Agents):
		return fmt.Sprintf("%s: agent %s has not begun", sig.Name, sig.Agent)
	}
	if _, ended := (Waiting{Ended: r.ended()}).ended(sig.Agent); ended {
		return fmt.Sprintf("%s: agent %s has ended", sig.Name, sig.Agent)
	}
	return ""
}

// handle applies a signal to the stage and forwards it to the running agents.
func (r *stageRun) handle(ctx workflow.Context, sig signal) (t Taken, why string) {
	if sig.Name == SignalGuide {
		return r.guide(ctx, sig)
	}
	if sig.Agent == "" {
		r.steering.apply(sig)
	}
	sig.SentOn = r.in.Level >= activities.LevelDirect
	for _, m := range r.concerned(sig) {
		if m.child.signal(ctx, sig) {
			t.For = append(t.For, sig.execution(r.in.Stage.Name, m.plan))
		}
	}
	for _, p := range r.toCome() {
		if sig.isFor(p) {
			t.For = append(t.For, sig.execution(r.in.Stage.Name, p))
		}
	}
	if len(r.toCome()) > 0 {
		r.early = append(r.early, sig)
	}
	if sig.Agent != "" && len(t.For) == 0 {
		return t, fmt.Sprintf("%s: agent %s is not running, or does not support this", sig.Name, sig.Agent)
	}
	return t, ""
}

// toCome returns the agents that start after the stage's hook.
func (r *stageRun) toCome() []plan.AgentSkeleton {
	if r.result.Status != "" {
		return nil
	}
	return r.in.Stage.Agents[len(r.agents):]
}

// concerned returns the running agents that a signal is for.
func (r *stageRun) concerned(sig signal) (out []*member) {
	for _, m := range r.agents {
		if !m.closed && sig.isFor(m.plan) {
			out = append(out, m)
		}
	}
	return out
}

// guide puts guidance for the stage itself into the mail.
func (r *stageRun) guide(ctx workflow.Context, sig signal) (t Taken, why string) {
	r.letters++
	why = sig.post(ctx, activities.PostIn{
		Investigation: r.in.Investigation, Plan: r.in.Plan, Source: r.in.Stage.Name, Ordinal: r.letters, Stages: []string{r.in.Stage.Name},
	})
	if why != "" {
		return t, why
	}
	for _, m := range r.concerned(sig) {
		if readsMail(m.plan) {
			t.For = append(t.For, sig.execution(r.in.Stage.Name, m.plan))
		}
	}
	r.handle(ctx, sig.wake(r.in.Level >= activities.LevelActs)) // wakes sleeping agents
	return t, ""
}

// undelivered records why a signal was not delivered.
func (r *stageRun) undelivered(ctx workflow.Context, why string) {
	r.refused = newest(append(r.refused, why), maxErrors)
	r.note(ctx)
	r.notices.post(ctx, activities.NoticeIn{Investigation: r.in.Investigation, Plan: r.in.Plan, Source: r.in.Stage.Name}, why)
}

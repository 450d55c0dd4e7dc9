package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
)

// handle takes in a signal of the investigation and sends it down to the stages
// that run. What reaches nobody, and will reach nobody, is in the status.
func (r *investigationRun) handle(ctx workflow.Context, sig signal) {
	if sig.Name == SignalGuide { // what it says is masked as the plan says
		_ = workflow.Await(ctx, func() bool { return r.state.Resolved.Plan != "" || r.unresolved })
		if r.unresolved {
			r.undelivered(sig.Name + ": the investigation has ended before it began")
			return
		}
	}
	switch why := r.refuse(sig); {
	case why != "":
		r.undelivered(why)
	case sig.Name == SignalGuide:
		r.guide(ctx, sig)
	default:
		if sig.Agent == "" {
			r.state.Steering.apply(sig)
		}
		if !r.forward(ctx, sig) && sig.Agent != "" {
			r.undelivered(fmt.Sprintf("%s: agent %s is not running", sig.Name, sig.Agent))
		}
	}
	workflow.SetCurrentDetails(ctx, statusTable(r.snapshot()))
}

// guide puts a person's words into the mail: for the stages that run, else for the
// next one; for one agent, wherever it is next. Agents that sleep are woken.
func (r *investigationRun) guide(ctx workflow.Context, sig signal) {
	r.state.Letters++
	in := activities.PostIn{Investigation: r.id, Plan: r.state.Resolved.Plan, Ordinal: r.state.Letters}
	for _, s := range r.running {
		if s.result == nil && sig.Agent == "" {
			in.Stages = append(in.Stages, s.plan.Name)
		}
	}
	if why := sig.post(ctx, in); why != "" {
		r.undelivered(why)
		return
	}
	if slices.ContainsFunc(r.running, func(s *stageChild) bool { return slices.ContainsFunc(s.plan.Agents, maySleep) }) {
		r.forward(ctx, sig.wake())
	}
}

// maySleep: it pauses its heartbeats, and is woken.
func maySleep(a agent.AgentSkeleton) bool { return a.Heartbeats }

// undelivered keeps why a signal found nobody, for the status and the record.
func (r *investigationRun) undelivered(why string) {
	r.state.Undelivered = newest(append(r.state.Undelivered, fit(why, maxWhy)), maxErrors)
	r.refusals++
}

// maxWhy bounds a line about a signal that found nobody, in bytes of JSON.
const maxWhy = 500

// forward sends a signal to the stages that run, if it is for them.
func (r *investigationRun) forward(ctx workflow.Context, sig signal) (delivered bool) {
	for _, s := range r.running {
		if s.result != nil || sig.Agent != "" && !hasAgent(s.plan, sig.Agent) {
			continue
		}
		delivered = s.child.signal(ctx, sig) || delivered
	}
	return delivered
}

// refuse says why a signal cannot be delivered now or later.
func (r *investigationRun) refuse(sig signal) string {
	if why := sig.refusal(); why != "" {
		return why
	}
	if r.result.Status.Closed() {
		return sig.Name + ": the investigation has ended"
	}
	if sig.Agent == "" || len(r.state.Stages) == 0 {
		return ""
	}
	if !slices.ContainsFunc(r.left(), func(s agent.StageSkeleton) bool { return hasAgent(s, sig.Agent) }) {
		return fmt.Sprintf("%s: no agent %q runs now or later", sig.Name, sig.Agent)
	}
	return ""
}

// left are the stages that run now or may run later: in a chain that goes back, all.
func (r *investigationRun) left() (out []agent.StageSkeleton) {
	for n, s := range r.state.Resolved.Skeleton.Stages {
		if r.chain().Routed() || !r.state.Stages[n].Status.Closed() {
			out = append(out, s)
		}
	}
	return out
}

func hasAgent(stage agent.StageSkeleton, name string) bool {
	if stage.Synthesis != nil && stage.Synthesis.Name == name {
		return true
	}
	return slices.ContainsFunc(stage.Agents, func(a agent.AgentSkeleton) bool { return a.Name == name })
}

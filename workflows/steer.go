package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/agent"
)

// handle takes in a signal of the investigation and sends it down to the stage
// that runs. What reaches nobody, and will reach nobody, is in the status.
func (r *investigationRun) handle(ctx workflow.Context, sig signal) {
	if why := r.refuse(sig); why != "" {
		r.undelivered(why)
		workflow.SetCurrentDetails(ctx, statusTable(r.snapshot()))
		return
	}
	if sig.Name != SignalGuide && sig.Agent == "" {
		r.state.Steering.apply(sig)
	}
	delivered := r.forward(ctx, sig)
	switch {
	case delivered:
	case sig.Name == SignalGuide:
		r.state.Steering.apply(sig) // for the next stage
	case sig.Agent != "":
		r.undelivered(fmt.Sprintf("%s: agent %s is not running", sig.Name, sig.Agent))
	}
	workflow.SetCurrentDetails(ctx, statusTable(r.snapshot()))
}

func (r *investigationRun) undelivered(why string) {
	r.state.Undelivered = newest(append(r.state.Undelivered, why), maxErrors)
}

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

// takeSteering is what a stage that starts now must know; guidance for agents
// of later stages stays.
func (r *investigationRun) takeSteering(stage agent.StageSkeleton) Steering {
	out := Steering{Paused: r.state.Steering.Paused}
	var later []Guide
	for _, g := range r.state.Steering.Guidance {
		if g.Agent == "" || hasAgent(stage, g.Agent) {
			out.Guidance = append(out.Guidance, g)
		} else {
			later = append(later, g)
		}
	}
	r.state.Steering.Guidance = later
	return out
}

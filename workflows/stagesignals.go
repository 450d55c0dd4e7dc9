package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/plan"
)

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

// toCome are the agents that start once the stage's hook has ended.
func (r *stageRun) toCome() []plan.AgentSkeleton {
	if r.result.Status != "" {
		return nil
	}
	return r.in.Stage.Agents[len(r.agents):]
}

// concerned are the agents at work that a signal is for.
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
	r.handle(ctx, sig.wake(r.in.Level >= activities.LevelActs)) // those that sleep
	return t, ""
}

// undelivered records why a signal was not delivered.
func (r *stageRun) undelivered(ctx workflow.Context, why string) {
	r.refused = newest(append(r.refused, why), maxErrors)
	r.note(ctx)
	r.notices.post(ctx, activities.NoticeIn{Investigation: r.in.Investigation, Plan: r.in.Plan, Source: r.in.Stage.Name}, why)
}

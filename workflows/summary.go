package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/plan"
)

// summarise runs a separate stage after the chain that summarises the investigation in a few lines.
// Its result does not change how the investigation ends.
func (r *investigationRun) summarise(ctx workflow.Context) {
	p := r.state.Resolved.Skeleton.Summary
	if p == nil || ctx.Err() != nil || r.state.Walk.End == agent.EndStoreBehind || len(r.sources(false)) == 0 {
		return
	}
	s := &stageChild{index: plan.SummaryStage, plan: *p, started: workflow.Now(ctx)}
	if grace := r.state.Resolved.Skeleton.Conclude; r.state.Deadline.Expired && grace > 0 {
		s.plan.Agents = slices.Clone(s.plan.Agents)
		timeouts := &s.plan.Agents[0].Timeouts
		timeouts.Agent = shorter(timeouts.Agent, plan.Duration(r.timeToConclude()))
	}
	s.in = r.stageInput(s)
	s.in.Order, s.in.Run = r.state.Walk.Hops+1, 1
	s.in.Reserve = true // a bound that was reached must not keep the summary from being written
	r.running = append(r.running, s)
	r.show(ctx)
	s.child = r.family.start(ctx, p.Name, "executive summary", Stage, s.in)
	waiting, _ := workflow.NewDisconnectedContext(ctx) // cancelled or not, a child says how it ended
	_ = workflow.Await(waiting, func() bool { return s.child.IsReady() })
	result := r.collect(ctx, s)
	if r.summary = result.Result; result.Status != agent.StatusCompleted {
		r.result.SummaryError = clip.Text(result.why(), 300)
	}
}

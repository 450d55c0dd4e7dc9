package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

const extendInput = `{"llm_calls": n, "tokens": n, "cost_usd": n, "duration": "1h", "by": "…"}`

// serveExtensions registers the update that raises bounds.
func (r *investigationRun) serveExtensions(ctx workflow.Context) error {
	return update[ExtendBudget, Budget]{
		UpdateExtendBudget, "Raise the bounds, at least one of them. Input: " + extendInput, extendInput,
		reading[ExtendBudget], r.checkExtension, r.extend,
	}.serve(ctx)
}

func (r *investigationRun) checkExtension(e ExtendBudget) error {
	bounds := r.state.Resolved.Skeleton.Bounds
	switch {
	case e.LLMCalls < 0 || e.Tokens < 0 || e.CostUSD < 0 || e.Duration < 0:
		return errors.New("a bound can be raised, not lowered")
	case e.Extension == plan.Extension{} && e.Duration == 0:
		return errors.New(`nothing to raise: give "llm_calls", "tokens", "cost_usd" or "duration"`)
	case r.result.Status.Closed() || r.state.Walk.End != "":
		return errors.New("the investigation is over")
	case len(r.state.Stages) == 0:
		return errors.New("the investigation has not begun yet")
	case e.LLMCalls > 0 && bounds.MaxLLMCalls == 0:
		return errors.New("the chain has no limit on model calls")
	case e.Tokens > 0 && bounds.MaxTokens == 0:
		return errors.New("the chain has no budget of tokens")
	case e.CostUSD > 0 && bounds.MaxCost == 0:
		return errors.New("the chain has no cost limit")
	case e.Duration > 0 && r.state.Deadline.Remaining == 0:
		return errors.New("the chain has no time limit")
	}
	return agent.CheckBy(e.By)
}

// extend raises bounds. Model calls read their bounds from the store.
func (r *investigationRun) extend(ctx workflow.Context, e ExtendBudget) (Budget, error) {
	if e.Extension != (plan.Extension{}) || r.state.Resolved.Level >= activities.LevelActs {
		in := activities.ExtendBudgetIn{
			Investigation: r.id, Key: workflow.GetCurrentUpdateInfo(ctx).ID, By: e.Extension, Duration: e.Duration, Who: e.By,
		}
		if err := storeStep(ctx, "budget", act.ExtendBudget, in, nil); err != nil {
			return Budget{}, err
		}
	}
	r.state.Extended, r.state.Longer = r.state.Extended.Add(e.Extension), r.state.Longer+e.Duration
	r.state.Deadline.extend(e.Duration.D())
	r.raised(ctx, e)
	if budget := r.budget(); budget != nil {
		return *budget, nil
	}
	return Budget{}, nil
}

// budget returns the bounds of the investigation. Nil means that none applies, or none any longer.
func (r *investigationRun) budget() *Budget {
	if r.result.Status.Closed() {
		return nil
	}
	b := r.state.Resolved.Skeleton.Bounds.Extend(r.state.Extended)
	out := Budget{
		LLMCalls: b.MaxLLMCalls, Tokens: b.MaxTokens, CostUSD: b.MaxCost, Hops: b.MaxHops, Passes: b.MaxPasses,
		Until: r.state.Deadline.until(),
	}
	if out == (Budget{}) {
		return nil
	}
	return &out
}

package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// A bound whose on_limit is "ask" does not end the work. Agents that reach it wait and report it to their parents. The
// investigation asks people once for all of them, and then tells all agents that the bound was raised or that it stands.

// Limit is a bound that an agent waits at.
type Limit struct {
	Agent string          `json:"agent"`
	Bound agent.EndReason `json:"bound"`
	// Raised is how often bounds had been raised when the agent asked for room last.
	Raised int `json:"raised,omitempty"`
}

// Limits is the input of SignalLimits: the state of the bounds, sent by an investigation to its stages and agents.
type Limits struct {
	Raised int  `json:"raised,omitempty"` // how often they were raised so far
	Held   bool `json:"held,omitempty"`   // the time is up, and people are asked for more
	Stand  bool `json:"stand,omitempty"`  // the bounds will not be raised
}

const limitsInput = `{"raised": n, "held": true or false, "stand": true or false}`

func (s *Steering) limits(l Limits) {
	s.Raised, s.Held, s.Stand = max(s.Raised, l.Raised), l.Held, l.Stand
}

// still reports that agents must make no further model calls for now.
func (s *Steering) still() bool { return s.Paused || s.Held }

// generate makes one model call. If a bound leaves no room and asks people, the call waits for them and is then
// repeated: its inputs are already in the transcript.
func (r *agentRun) generate(ctx workflow.Context, conclude bool) (activities.GenerateOut, error) {
	for {
		raised := r.steering.Raised
		out, err := r.model.call(ctx, conclude)
		if err == nil || !out.AskLimit || !r.awaitRoom(ctx, Limit{r.in.Agent.Name, out.Exceeded, raised}) {
			return out, err
		}
	}
}

// awaitRoom waits until a bound is raised. It returns false if the bound stands.
func (r *agentRun) awaitRoom(ctx workflow.Context, l Limit) bool {
	r.limit = &l
	r.note(ctx, fmt.Sprintf("waiting for a person because a limit was reached: %s", l.Bound))
	r.waitReporter.changed()
	err := workflow.Await(ctx, func() bool {
		return r.steering.Raised != l.Raised || r.steering.Stand || r.steering.Concluding
	})
	r.limit = nil
	r.waitReporter.changed()
	return err == nil && r.steering.Raised != l.Raised && !r.steering.Concluding
}

// bounds raises an investigation's bounds, and asks people about those that are reached.
type bounds struct {
	run   *investigationRun
	asked []*limitQuestion
}

// limitQuestion is a question to people about a bound.
type limitQuestion struct {
	*interrupt
	clock  bool // it is about the time limit
	raised bool
}

// serveLimits asks people when agents wait at a bound.
func (bs *bounds) serveLimits(ctx workflow.Context) {
	if bs.run.state.Resolved.Skeleton.Bounds.OnLimit != plan.OnBoundAsk {
		return
	}
	asks := func(l Limit) bool { return l.Raised >= bs.run.state.Steering.Raised }
	reached := func() bool {
		return !bs.run.over(ctx) && !bs.run.state.Steering.Stand && slices.ContainsFunc(bs.run.waiting().Limits, asks)
	}
	bs.run.watch.whenever(ctx, reached, func(ctx workflow.Context) {
		limits := bs.run.waiting().Limits
		bs.askLimit(ctx, false, limits[slices.IndexFunc(limits, asks)].Bound)
	})
}

// moreTime asks people for more time when it is up; no agent makes a further call meanwhile.
func (bs *bounds) moreTime(ctx workflow.Context) bool {
	bounds := bs.run.state.Resolved.Skeleton.Bounds
	if bounds.OnLimit != plan.OnBoundAsk || bounds.MaxDuration == 0 || bs.run.over(ctx) || bs.run.state.Steering.Stand {
		return false
	}
	bs.run.state.Steering.Held = true
	bs.sendLimits(ctx)
	more := bs.askLimit(ctx, true, agent.EndBudget)
	bs.run.state.Steering.Held = false
	bs.sendLimits(ctx)
	return more
}

// askLimit asks people about a bound, and waits until it is raised, or stands because of an answer or a timeout.
func (bs *bounds) askLimit(ctx workflow.Context, clock bool, bound agent.EndReason) (raised bool) {
	bs.run.state.Limits++
	bounds := bs.run.state.Resolved.Skeleton.Bounds
	q := &limitQuestion{clock: clock, interrupt: &interrupt{Interrupt: Interrupt{
		ID: bs.run.questions.questionID(ctx, "b", bs.run.state.Limits), Kind: kindLimit, Question: bs.limitReached(clock, bound),
		Expires: workflow.Now(ctx).Add(bounds.OnLimitTimeout.D()),
	}}}
	if len(bs.run.running) > 0 {
		q.Stage = bs.run.running[0].plan.Name
	}
	bs.asked = append(bs.asked, q)
	paused := func() bool { return bs.run.state.Steering.Paused }
	done := func() bool { return q.raised || q.answer != nil || bs.run.over(ctx) }
	_, _ = awaitPeople(ctx, "bound "+q.ID, &q.Expires, paused, done, func() {})
	q.closed = true
	bs.asked = slices.DeleteFunc(slices.Clone(bs.asked), func(other *limitQuestion) bool { return other == q })
	switch {
	case q.raised || bs.run.over(ctx):
	case q.answer != nil && cmp.Or(q.answer.Decision, q.answer.Text) == decideConclude:
		bs.run.signals.queue = append(bs.run.signals.queue, &arrival{signal: signal{Name: SignalConclude, By: q.answer.By}})
	default: // the bound stands
		bs.run.state.Steering.Stand = true
		if q.answer == nil {
			bs.run.act(ctx, audit.Act{What: audit.Answered, Call: q.ID, Detail: audit.Detail("kind", q.Kind, "answer", "the question timed out")})
		}
		bs.sendLimits(ctx)
	}
	return q.raised
}

// limitReached returns the question to people: the reached bound, and their choices.
func (bs *bounds) limitReached(clock bool, bound agent.EndReason) string {
	b := bs.run.state.Resolved.Skeleton.Bounds
	var limits []string
	for _, l := range b.InForce(bs.run.state.Resolved.Skeleton.Timeout, bs.run.state.Extended, bs.run.state.Longer) {
		if concerns := map[string]bool{
			"max_duration": clock, "max_llm_calls": !clock && bound == agent.EndMaxLLMCalls,
			"max_tokens_total": !clock && bound == agent.EndBudget, "max_cost_usd": !clock && bound == agent.EndBudget,
		}; concerns[l.Name] {
			limits = append(limits, l.Name+" "+l.Limit)
		}
	}
	return fmt.Sprintf("A limit was reached (%s). Raise it (starter extend), or answer with the decision %s or %s.",
		strings.Join(limits, ", "), decideConclude, decideStop)
}

// raised informs agents that wait at a bound that it was raised.
func (bs *bounds) raised(ctx workflow.Context, e ExtendBudget) {
	if bs.run.state.Resolved.Skeleton.Bounds.OnLimit != plan.OnBoundAsk {
		return
	}
	if e.Extension != (plan.Extension{}) {
		bs.run.state.Steering.Raised++
	}
	for _, q := range bs.asked {
		q.raised = q.raised || q.clock && e.Duration > 0 || !q.clock && e.Extension != (plan.Extension{})
	}
	bs.run.state.Steering.Stand = false
	bs.sendLimits(ctx)
}

// sendLimits sends the state of the bounds to all running stages.
func (bs *bounds) sendLimits(ctx workflow.Context) {
	s := bs.run.state.Steering
	bs.run.delivery.forward(ctx, signal{Name: SignalLimits, Limits: Limits{Raised: s.Raised, Held: s.Held, Stand: s.Stand}})
}

// Answers to a question about a bound, besides raising it.
const (
	kindLimit      = "bound"
	decideConclude = "conclude" // agents finish with what they know
	decideStop     = "stop"     // the bound ends the work, as without a question
)

// boundReached ends the loop of an agent whose investigation may make no more model calls.
type boundReached struct{ bound agent.EndReason }

func (b boundReached) Error() string { return string(b.bound) }

const extendInput = `{"llm_calls": n, "tokens": n, "cost_usd": n, "duration": "1h", "by": "…"}`

// serveExtensions registers the update that raises bounds.
func (bs *bounds) serveExtensions(ctx workflow.Context) error {
	return update[ExtendBudget, Budget]{
		UpdateExtendBudget, "Raise one or more limits. Input: " + extendInput, extendInput,
		reading[ExtendBudget], bs.checkExtension, bs.extend,
	}.serve(ctx)
}

func (bs *bounds) checkExtension(e ExtendBudget) error {
	bounds := bs.run.state.Resolved.Skeleton.Bounds
	switch {
	case e.LLMCalls < 0 || e.Tokens < 0 || e.CostUSD < 0 || e.Duration < 0:
		return errors.New("limits can be raised, not lowered")
	case e.Extension == plan.Extension{} && e.Duration == 0:
		return errors.New(`nothing to raise: give "llm_calls", "tokens", "cost_usd" or "duration"`)
	case bs.run.result.Status.Closed() || bs.run.state.Walk.End != "":
		return errors.New("the investigation is over")
	case len(bs.run.state.Stages) == 0:
		return errors.New("the investigation has not begun yet")
	case e.LLMCalls > 0 && bounds.MaxLLMCalls == 0:
		return errors.New("the chain has no limit on model calls")
	case e.Tokens > 0 && bounds.MaxTokens == 0:
		return errors.New("the chain has no token limit")
	case e.CostUSD > 0 && bounds.MaxCost == 0:
		return errors.New("the chain has no cost limit")
	case e.Duration > 0 && bs.run.state.Deadline.Remaining == 0:
		return errors.New("the chain has no time limit")
	}
	return agent.CheckBy(e.By)
}

// extend raises bounds. Model calls read their bounds from the store.
func (bs *bounds) extend(ctx workflow.Context, e ExtendBudget) (Budget, error) {
	if e.Extension != (plan.Extension{}) || bs.run.state.Resolved.Level >= activities.LevelActs {
		in := activities.ExtendBudgetIn{
			Investigation: bs.run.id, Key: workflow.GetCurrentUpdateInfo(ctx).ID, By: e.Extension, Duration: e.Duration, Who: e.By,
		}
		if err := storeStep(ctx, "budget", act.ExtendBudget, in, nil); err != nil {
			return Budget{}, err
		}
	}
	bs.run.state.Extended, bs.run.state.Longer = bs.run.state.Extended.Add(e.Extension), bs.run.state.Longer+e.Duration
	bs.run.state.Deadline.extend(e.Duration.D())
	bs.raised(ctx, e)
	if budget := bs.budget(); budget != nil {
		return *budget, nil
	}
	return Budget{}, nil
}

// budget returns the bounds of the investigation. Nil means that none applies, or none any longer.
func (bs *bounds) budget() *Budget {
	if bs.run.result.Status.Closed() {
		return nil
	}
	b := bs.run.state.Resolved.Skeleton.Bounds.Extend(bs.run.state.Extended)
	out := Budget{
		LLMCalls: b.MaxLLMCalls, Tokens: b.MaxTokens, CostUSD: b.MaxCost, Hops: b.MaxHops, Passes: b.MaxPasses,
		Until: bs.run.state.Deadline.until(),
	}
	if out == (Budget{}) {
		return nil
	}
	return &out
}

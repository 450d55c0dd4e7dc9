package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/plan"
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
		out, err := r.modelCall(ctx, conclude)
		if err == nil || !out.AskLimit || !r.awaitRoom(ctx, Limit{r.in.Agent.Name, out.Exceeded, raised}) {
			return out, err
		}
	}
}

// awaitRoom waits until a bound is raised. It returns false if the bound stands.
func (r *agentRun) awaitRoom(ctx workflow.Context, l Limit) bool {
	r.limit = &l
	r.note(ctx, fmt.Sprintf("waiting for a person because a limit was reached: %s", l.Bound))
	r.teller.changed()
	err := workflow.Await(ctx, func() bool {
		return r.steering.Raised != l.Raised || r.steering.Stand || r.steering.Concluding
	})
	r.limit = nil
	r.teller.changed()
	return err == nil && r.steering.Raised != l.Raised && !r.steering.Concluding
}

// limitQuestion is a question to people about a bound.
type limitQuestion struct {
	*interrupt
	clock  bool // it is about the time limit
	raised bool
}

// serveLimits asks people when agents wait at a bound.
func (r *investigationRun) serveLimits(ctx workflow.Context) {
	if r.state.Resolved.Skeleton.Bounds.OnLimit != plan.OnBoundAsk {
		return
	}
	asks := func(l Limit) bool { return l.Raised >= r.state.Steering.Raised }
	reached := func() bool {
		return !r.over(ctx) && !r.state.Steering.Stand && slices.ContainsFunc(r.waiting().Limits, asks)
	}
	r.watch.whenever(ctx, reached, func(ctx workflow.Context) {
		limits := r.waiting().Limits
		r.askLimit(ctx, false, limits[slices.IndexFunc(limits, asks)].Bound)
	})
}

// moreTime asks people for more time when it is up; no agent makes a further call meanwhile.
func (r *investigationRun) moreTime(ctx workflow.Context) bool {
	bounds := r.state.Resolved.Skeleton.Bounds
	if bounds.OnLimit != plan.OnBoundAsk || bounds.MaxDuration == 0 || r.over(ctx) || r.state.Steering.Stand {
		return false
	}
	r.state.Steering.Held = true
	r.tellLimits(ctx)
	more := r.askLimit(ctx, true, agent.EndBudget)
	r.state.Steering.Held = false
	r.tellLimits(ctx)
	return more
}

// askLimit asks people about a bound, and waits until it is raised, or stands because of an answer or a timeout.
func (r *investigationRun) askLimit(ctx workflow.Context, clock bool, bound agent.EndReason) (raised bool) {
	r.state.Limits++
	bounds := r.state.Resolved.Skeleton.Bounds
	q := &limitQuestion{clock: clock, interrupt: &interrupt{Interrupt: Interrupt{
		ID: r.questionID(ctx, "b", r.state.Limits), Kind: kindLimit, Question: r.limitReached(clock, bound),
		Expires: workflow.Now(ctx).Add(bounds.OnLimitTimeout.D()),
	}}}
	if len(r.running) > 0 {
		q.Stage = r.running[0].plan.Name
	}
	r.limits = append(r.limits, q)
	paused := func() bool { return r.state.Steering.Paused }
	done := func() bool { return q.raised || q.answer != nil || r.over(ctx) }
	_, _ = awaitPeople(ctx, "bound "+q.ID, &q.Expires, paused, done, func() {})
	q.closed = true
	r.limits = slices.DeleteFunc(slices.Clone(r.limits), func(other *limitQuestion) bool { return other == q })
	switch {
	case q.raised || r.over(ctx):
	case q.answer != nil && cmp.Or(q.answer.Decision, q.answer.Text) == decideConclude:
		r.signals.queue = append(r.signals.queue, &arrival{signal: signal{Name: SignalConclude, By: q.answer.By}})
	default: // the bound stands
		r.state.Steering.Stand = true
		if q.answer == nil {
			r.act(ctx, audit.Act{What: audit.Answered, Call: q.ID, Detail: audit.Detail("kind", q.Kind, "answer", "the question timed out")})
		}
		r.tellLimits(ctx)
	}
	return q.raised
}

// limitReached returns the question to people: the reached bound, and their choices.
func (r *investigationRun) limitReached(clock bool, bound agent.EndReason) string {
	b := r.state.Resolved.Skeleton.Bounds
	var limits []string
	for _, l := range b.InForce(r.state.Resolved.Skeleton.Timeout, r.state.Extended, r.state.Longer) {
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
func (r *investigationRun) raised(ctx workflow.Context, e ExtendBudget) {
	if r.state.Resolved.Skeleton.Bounds.OnLimit != plan.OnBoundAsk {
		return
	}
	if e.Extension != (plan.Extension{}) {
		r.state.Steering.Raised++
	}
	for _, q := range r.limits {
		q.raised = q.raised || q.clock && e.Duration > 0 || !q.clock && e.Extension != (plan.Extension{})
	}
	r.state.Steering.Stand = false
	r.tellLimits(ctx)
}

// tellLimits sends the state of the bounds to all running stages.
func (r *investigationRun) tellLimits(ctx workflow.Context) {
	s := r.state.Steering
	r.forward(ctx, signal{Name: SignalLimits, Limits: Limits{Raised: s.Raised, Held: s.Held, Stand: s.Stand}})
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

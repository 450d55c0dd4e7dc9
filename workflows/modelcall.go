package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/plan"
)

// modelCall calls the model. If a lost workflow task got further than history shows, out.Other holds
// the reply to its request. modelCall then runs that reply's tool calls, which may already have been
// made, and keeps the current inputs for the next call.
func (r *agentRun) modelCall(ctx workflow.Context, conclude bool) (activities.GenerateOut, error) {
	inputs := r.state.Inputs
	out, err := r.askModel(ctx, conclude)
	if err != nil || !out.Other {
		return out, err
	}
	inputs = slices.DeleteFunc(slices.Clone(inputs), func(i activities.Input) bool { return slices.Contains(ofLastReply, i.Kind) })
	r.state.Inputs = append(inputs, r.state.Inputs...)
	if len(out.Calls) > 0 {
		r.callTools(ctx, out.Calls)
		r.state.Batches++
	}
	return out, err
}

// ofLastReply lists the kinds of inputs that refer to the last reply.
var ofLastReply = []activities.InputKind{
	activities.InputNudge, activities.InputRepeating, activities.InputRepair, activities.InputAnswered,
	activities.InputTools,
}

// askModel makes one model call. It retries while the provider is unavailable, and then falls
// back to the next provider.
func (r *agentRun) askModel(ctx workflow.Context, conclude bool) (activities.GenerateOut, error) {
	if err := cmp.Or(r.behind, ctx.Err()); err != nil {
		return activities.GenerateOut{}, err
	}
	r.state.Iteration++
	in := activities.GenerateIn{
		Ref: r.ref(), Iteration: r.state.Iteration, Conclude: conclude, Reserve: r.reserve, Inputs: r.state.Inputs,
	}
	if r.state.Iteration == 1 {
		in.Prior, in.Peers, in.Earlier, in.Notes = r.in.Prior, r.in.Peers, r.in.Earlier, r.in.Notes
		in.Task = r.in.Dispatched
	}
	r.state.Inputs = nil
	for in.Try = 1; ; in.Try++ {
		var out activities.GenerateOut
		err := survived(ctx, "model call of "+r.in.Agent.Name, 0, func(n int) (err error) {
			if n > 1 { // a worker died during the call: the next death must count, too
				in.Try++
				r.state.Quick = false
			}
			out, err = r.try(ctx, in)
			return err
		})
		if err == nil {
			r.recovered()
			return r.replied(out)
		}
		r.state.Usage, r.state.Quick = r.state.Usage.Add(trouble(err).Usage), false
		if ctx.Err() == nil && r.tryAgain(ctx, &in, err) {
			continue
		}
		r.recovered()
		r.unanswered(ctx, in, err)
		r.state.Inputs = append(in.Inputs, r.state.Inputs...) // no model has read them
		return out, err
	}
}

// tryAgain waits until the model can be called again, or selects the next provider.
func (r *agentRun) tryAgain(ctx workflow.Context, in *activities.GenerateIn, err error) bool {
	switch errorType, _ := failure(err); errorType {
	case activities.ErrorWorkerDied, activities.ErrorPrompt, activities.ErrorStoreBehind:
		return false // no provider is to blame
	}
	if r.waitOut(ctx, err) {
		in.Fallback = nil
		return true
	}
	return ctx.Err() == nil && r.fallBack(in, err)
}

// unanswered writes the agent's first request to the transcript if no model has answered it and none
// will. Otherwise the transcript would be empty.
func (r *agentRun) unanswered(ctx workflow.Context, in activities.GenerateIn, err error) {
	if r.turns || !r.asked || r.state.Model != "" {
		return
	}
	result := r.stopped(ctx, err)
	cleanup, _ := workflow.NewDisconnectedContext(ctx)
	const summary = "what was asked"
	asked := activities.UnansweredIn{Call: in, Why: fit(cmp.Or(result.Error, string(result.StopReason)), maxWhy)}
	told := step{activity: act.Unanswered, in: asked, summary: summary, within: storeWithin}
	if err := told.run(workflow.WithScheduleToCloseTimeout(storeOptions(cleanup, summary), lastWord), nil); err != nil {
		workflow.GetLogger(ctx).Warn("what was asked is not in the transcript", "execution", r.in.Ref.Execution, "error", err)
	}
}

// try calls the model once. If the agent is paused, it waits first.
func (r *agentRun) try(ctx workflow.Context, in activities.GenerateIn) (out activities.GenerateOut, err error) {
	if err := r.hold(ctx); err != nil {
		return out, err
	}
	r.asked = true
	in.Provider = r.state.Provider
	model := r.in.Agent.Model(in.Provider)
	if r.streak == nil {
		r.note(ctx, "waiting for "+model)
	}
	summary := fmt.Sprintf("%s · iteration %d", model, in.Iteration)
	ending := workflow.GetInfo(ctx).GetContinueAsNewSuggested()
	if !ending && r.quick(ctx, in) {
		r.settled = false
		err = workflow.ExecuteLocalActivity(quickOptions(ctx, summary), act.Generate, in).Get(ctx, &out)
		if err != nil && ctx.Err() != nil {
			r.state.Iteration-- // if it stored a reply anyway, the final call finds it (out.Other)
			return out, err
		}
		if err == nil || lasts(err) {
			return out, err
		}
		errorType, _ := failure(err)
		in.Begun = errorType == activities.ErrorReplaced
	}
	err = workflow.ExecuteActivity(generateOptions(ctx, r.in.Agent.Timeouts, summary), act.Generate, in).Get(ctx, &out)
	r.listened = workflow.Now(ctx)
	r.settled = err == nil && !out.Kept && (ending || !out.Quick)
	return out, err
}

// quick reports whether the model is called within the workflow task. Results that the workflow decided must be
// in the history before a model sees them.
func (r *agentRun) quick(ctx workflow.Context, in activities.GenerateIn) bool {
	decided := func(i activities.Input) bool { return i.Kind == activities.InputResult }
	return r.state.Quick && workflow.Now(ctx).Sub(r.listened) < unheard &&
		r.in.Agent.Pattern == agent.Iterating && !r.turns && r.orchestration == nil && r.in.Ref.Stage != plan.ScoringStage &&
		!slices.ContainsFunc(in.Inputs, decided)
}

// unheard bounds how long an agent makes quick calls before it lets the workflow task end, because
// a workflow receives signals only between its tasks. Calls in progress may take a second more.
const unheard = 500 * time.Millisecond

// replied adds the usage of a model call. It returns an error if a bound prevented the call.
func (r *agentRun) replied(out activities.GenerateOut) (activities.GenerateOut, error) {
	r.state.Usage = r.state.Usage.Add(out.Usage)
	r.replaceSeen(out.Seen)
	r.state.Model, r.state.Quick = cmp.Or(out.Model, r.state.Model), out.Quick
	if out.Exceeded != "" && !out.Other {
		return out, boundReached{out.Exceeded}
	}
	return out, nil
}

// fallBack selects the next provider. It returns false if there is none.
func (r *agentRun) fallBack(in *activities.GenerateIn, err error) bool {
	if r.state.Provider+1 >= len(r.in.Agent.Models) {
		return false
	}
	errorType, message := failure(err)
	in.Fallback = &activities.Failure{ErrorType: errorType, Error: clip.Text(message, 500), Try: in.Try}
	r.state.Provider++
	r.recovered()
	return true
}

// again decides whether to repeat the request after a reply without tool calls,
// and adds the reason to the next inputs.
func (r *agentRun) again(out activities.GenerateOut) bool {
	kind := activities.InputNudge
	switch {
	case out.Finish == activities.FinishRepeating:
		kind = activities.InputRepeating
	case out.Invalid != "" && !r.state.Repaired:
		r.state.Repaired = true
		r.state.Inputs = append(r.state.Inputs, activities.Input{Kind: activities.InputRepair, Text: out.Invalid})
		return true
	case !out.Empty, out.Partial != "": // the same limit would give the same result
		r.state.Nudges = 0
		return false
	}
	if r.state.Nudges >= maxNudges {
		return false
	}
	r.state.Nudges++
	r.state.Inputs = append(r.state.Inputs, activities.Input{Kind: kind})
	return true
}

// streak counts the consecutive failed tries of one provider.
type streak struct {
	Outage
	tries   map[string]int // by error type
	strikes int            // see activities.Strike
	// long means that the outage is shown to people and stops the clocks.
	long bool
	// hurried is the deadline for an agent that was told to conclude.
	hurried time.Time
}

// waitOut waits until the failed provider can be tried again. again is false if its tries or its
// time are used up.
func (r *agentRun) waitOut(ctx workflow.Context, err error) (again bool) {
	said := trouble(err)
	s := r.failedTry(ctx, err, said)
	limit := activities.Tries(s.ErrorType)
	if limit > 0 && s.tries[s.ErrorType] >= limit || r.struckOut() {
		return false
	}
	now := workflow.Now(ctx)
	after := said.RetryAfter.D()
	tries := fmt.Sprintf("%s/%s/%d/", r.in.Ref.Investigation, r.in.Ref.Execution, r.state.Iteration)
	wait := max(backoff(s.Tries, tries), after)
	if said.Open { // all agents that wait for the model get the same time
		wait = max(wait, after+part(after, s.Tries, tries))
	}
	left := s.Until.Sub(now)
	if left <= 0 || after > left && !said.Open { // a circuit may close sooner
		return false
	}
	wait = min(wait, left) // the last try is at the end
	s.Next, s.long = now.Add(wait), s.long || wait >= longOutage
	r.note(ctx, "waiting for "+s.String())
	if s.long {
		r.teller.changed()
	}
	hurried := r.steering.Concluding
	_, err = workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: wait, TimerOptions: workflow.TimerOptions{Summary: "next try of " + s.Model},
	}, func() bool { return r.steering.Concluding != hurried })
	return err == nil
}

// failedTry adds a failed try to the provider's streak.
func (r *agentRun) failedTry(ctx workflow.Context, err error, said activities.Trouble) *streak {
	now := workflow.Now(ctx)
	errorType, message := failure(err)
	if r.streak == nil {
		r.streak = &streak{tries: map[string]int{}, Outage: Outage{Agent: r.in.Agent.Name, Execution: r.in.Ref.Execution, Since: now}}
	}
	s := r.streak
	s.Tries++
	s.tries[errorType]++
	switch {
	case !activities.Strike(errorType):
		s.strikes = 0
	case said.Open: // other agents reached the limit of strikes
		s.strikes = max(s.strikes, r.in.Agent.Strikes)
	default:
		s.strikes++
	}
	s.ErrorType, s.Error = errorType, clip.Text(message, 200)
	s.Provider, s.Model = said.Provider, r.in.Agent.Model(r.state.Provider)
	s.Fallback = r.in.Agent.Model(r.state.Provider + 1)
	s.Until = s.Since.Add(r.outageLimit(errorType))
	if r.steering.Concluding && s.hurried.IsZero() {
		s.hurried = now.Add(outageHurried)
	}
	if !s.hurried.IsZero() && s.hurried.Before(s.Until) {
		s.Until = s.hurried
	}
	return s
}

// struckOut reports that this model is down and another one is configured.
func (r *agentRun) struckOut() bool {
	return r.in.Agent.Strikes > 0 && r.streak.Fallback != "" && r.streak.strikes >= r.in.Agent.Strikes
}

func (r *agentRun) outageLimit(errorType string) time.Duration {
	switch {
	case errorType == activities.ErrorWorkerCannot:
		return activities.WorkerWait
	case r.in.Agent.Timeouts.Outage > 0:
		return r.in.Agent.Timeouts.Outage.D()
	case r.streak.Fallback != "":
		return outageFallback
	}
	return outageAlone
}

// backoff is how long to wait after the n-th try (from 1). what spreads the retries of agents that
// share a provider or a worker.
func backoff(n int, what string) time.Duration {
	wait := doubled(n)
	return wait + part(wait/4, n, what)
}

func doubled(n int) time.Duration { return min(firstRetry<<min(n-1, 20), longestBackoff) }

// part returns a pseudo-random fraction of d, determined by n and what alone.
func part(d time.Duration, n int, what string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(fmt.Sprint(what, n)))
	return d * time.Duration(h.Sum32()%1024) / 1024
}

// recovered ends a streak: the provider has answered, or another one takes over.
func (r *agentRun) recovered() {
	if r.streak != nil && r.streak.long {
		r.teller.changed()
	}
	r.streak = nil
}

// outage returns the outage that the agent waits for. It is nil if there is none, or only a short one.
func (r *agentRun) outage() *Outage {
	if r.streak == nil || !r.streak.long {
		return nil
	}
	out := r.streak.Outage
	return &out
}

// trouble returns the details of a model call's error besides its type and text.
func trouble(err error) (t activities.Trouble) {
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.HasDetails() {
		_ = failed.Details(&t) // other kinds of errors have no details
	}
	return t
}

// tried runs an activity that calls a tool server, and retries it while the server is unavailable.
func tried(ctx workflow.Context, run func(last bool) error) error {
	for n := 1; ; n++ {
		err := run(n == serverTries)
		if err == nil || n == serverTries {
			return err
		}
		if errorType, _ := failure(err); errorType != activities.ErrorServerUnavailable {
			return err
		}
		if err := workflow.Sleep(ctx, firstRetry<<(n-1)); err != nil {
			return err
		}
	}
}

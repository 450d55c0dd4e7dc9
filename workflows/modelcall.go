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

// modelCall has the model answer. The reply may be one to what a lost workflow task has asked in
// place of this (out.Other). That one is lived through: its calls, which may have been made, are
// made, and what was to be said is left for the next call.
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

// ofLastReply are the inputs that speak of the last reply.
var ofLastReply = []activities.InputKind{
	activities.InputNudge, activities.InputRepeating, activities.InputRepair, activities.InputAnswered,
	activities.InputTools,
}

// askModel makes one model call: again while its provider is away, and then falling
// back from provider to provider.
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
			if n > 1 { // a worker has died in it: this one's death is to be counted, too
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
		r.state.Inputs = append(in.Inputs, r.state.Inputs...) // nobody has read them
		return out, err
	}
}

// tryAgain waits until the model is asked once more, or has the next provider asked.
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

// unanswered writes down what the agent asked if no model has ever answered it, and none
// will: its transcript would be empty otherwise.
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

// try asks the model once, unless people have paused the agent.
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
			r.state.Iteration-- // a reply that it has stored all the same is lived through by the last word
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

// quick: the model is asked within the workflow task. What the workflow has decided about calls is
// told to a model once it is in the history.
func (r *agentRun) quick(ctx workflow.Context, in activities.GenerateIn) bool {
	decided := func(i activities.Input) bool { return i.Kind == activities.InputResult }
	return r.state.Quick && workflow.Now(ctx).Sub(r.listened) < unheard &&
		r.in.Agent.Pattern == agent.Iterating && !r.turns && r.orchestration == nil && r.in.Ref.Stage != plan.ScoringStage &&
		!slices.ContainsFunc(in.Inputs, decided)
}

// unheard is for how long an agent makes quick calls before it lets the workflow task end: a
// workflow hears people between its tasks alone. Calls that have begun may take a second more.
const unheard = 500 * time.Millisecond

// replied takes in what a model call took; the error is the bound that forbade it.
func (r *agentRun) replied(out activities.GenerateOut) (activities.GenerateOut, error) {
	r.state.Usage = r.state.Usage.Add(out.Usage)
	r.replaceSeen(out.Seen)
	r.state.Model, r.state.Quick = cmp.Or(out.Model, r.state.Model), out.Quick
	if out.Exceeded != "" && !out.Other {
		return out, boundReached{out.Exceeded}
	}
	return out, nil
}

// fallBack makes the next provider the agent's; false: there is none.
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

// again decides whether a reply without tool calls has to be asked for once
// more, and puts the reason into the next inputs.
func (r *agentRun) again(out activities.GenerateOut) bool {
	kind := activities.InputNudge
	switch {
	case out.Finish == activities.FinishRepeating:
		kind = activities.InputRepeating
	case out.Invalid != "" && !r.state.Repaired:
		r.state.Repaired = true
		r.state.Inputs = append(r.state.Inputs, activities.Input{Kind: activities.InputRepair, Text: out.Invalid})
		return true
	case !out.Empty, out.Partial != "": // with the same limit it would be as empty again
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

// streak is the tries of one provider that have failed one after the other.
type streak struct {
	Outage
	tries   map[string]int // by error type
	strikes int            // see activities.Strike
	// long: it is an outage; people are told, and no clock runs meanwhile.
	long bool
	// hurried is the end of the patience of an agent that was told to conclude.
	hurried time.Time
}

// waitOut waits until the failed provider is to be tried again; again is false if it has
// used up its tries, or its time.
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
	if said.Open { // all who wait for the model are told the same time
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

// failedTry adds a try to the provider's streak.
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
	case said.Open: // others have struck
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

// struckOut: there is another model, and this one is down.
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

// backoff is how long to wait after the n-th try (from 1). what makes agents that share a
// provider or a worker come back at different times.
func backoff(n int, what string) time.Duration {
	wait := doubled(n)
	return wait + part(wait/4, n, what)
}

func doubled(n int) time.Duration { return min(firstRetry<<min(n-1, 20), longestBackoff) }

// part is a part of d that depends on n and what alone.
func part(d time.Duration, n int, what string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(fmt.Sprint(what, n)))
	return d * time.Duration(h.Sum32()%1024) / 1024
}

// recovered ends a streak: the provider has answered, or another one is asked.
func (r *agentRun) recovered() {
	if r.streak != nil && r.streak.long {
		r.teller.changed()
	}
	r.streak = nil
}

// outage is what the agent waits for; nil = no provider, or not for long.
func (r *agentRun) outage() *Outage {
	if r.streak == nil || !r.streak.long {
		return nil
	}
	out := r.streak.Outage
	return &out
}

// trouble is what a model call's error says besides its type and text.
func trouble(err error) (t activities.Trouble) {
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.HasDetails() {
		_ = failed.Details(&t) // one without is of another kind
	}
	return t
}

// tried runs an activity that asks a tool server, again if the server is not there.
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

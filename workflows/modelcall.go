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
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
)

// modelCalls makes an agent's model calls: it falls back to other models, and waits while a provider is unavailable.
type modelCalls struct {
	run    *agentRun
	streak *streak // of failed model calls; nil means the last call succeeded
	asked  bool    // a model was called at least once
	// canEnd reports that no lost workflow task can have got further than the last reply, so this run may end.
	canEnd bool
	// listened is when a regular call of the agent last ended. A workflow task began then and delivered
	// all pending signals and updates.
	listened time.Time
}

// call calls the model. If a lost workflow task got further than history shows, out.Other holds
// the reply to its request. call then runs that reply's tool calls, which may already have been
// made, and keeps the current inputs for the next call.
func (m *modelCalls) call(ctx workflow.Context, conclude bool) (activities.GenerateOut, error) {
	inputs := m.run.state.Inputs
	out, err := m.ask(ctx, conclude)
	if err != nil || !out.Other {
		return out, err
	}
	inputs = slices.DeleteFunc(slices.Clone(inputs), func(i activities.Input) bool { return slices.Contains(ofLastReply, i.Kind) })
	m.run.state.Inputs = append(inputs, m.run.state.Inputs...)
	if len(out.Calls) > 0 {
		m.run.callTools(ctx, out.Calls)
		m.run.state.Batches++
	}
	return out, err
}

// ofLastReply lists the kinds of inputs that refer to the last reply.
var ofLastReply = []activities.InputKind{
	activities.InputNudge, activities.InputRepeating, activities.InputRepair, activities.InputAnswered,
	activities.InputTools,
}

// ask makes one model call. It retries while the provider is unavailable, and then falls
// back to the next provider.
func (m *modelCalls) ask(ctx workflow.Context, conclude bool) (activities.GenerateOut, error) {
	if err := cmp.Or(m.run.behind, ctx.Err()); err != nil {
		return activities.GenerateOut{}, err
	}
	m.run.state.Iteration++
	in := activities.GenerateIn{
		Ref: m.run.ref(), Iteration: m.run.state.Iteration, Conclude: conclude, Reserve: m.run.reserve, Inputs: m.run.state.Inputs,
		From: m.run.from, Skipped: m.run.skipped,
	}
	if m.run.state.Iteration == 1 {
		in.Prior, in.Peers, in.Earlier, in.Notes = m.run.in.Prior, m.run.in.Peers, m.run.in.Earlier, m.run.in.Notes
		in.Task = m.run.in.Dispatched
	}
	m.run.state.Inputs = nil
	for in.Try = 1; ; in.Try++ {
		var out activities.GenerateOut
		err := survived(ctx, "model call by "+m.run.in.Agent.Name, 0, func(n int) (err error) {
			if n > 1 { // a worker died during the call: the next death must count, too
				in.Try++
				m.run.state.Quick = false
			}
			out, err = m.try(ctx, in)
			return err
		})
		if err == nil {
			m.recovered()
			return m.replied(out)
		}
		m.run.state.Usage, m.run.state.Quick = m.run.state.Usage.Add(trouble(err).Usage), false
		if ctx.Err() == nil && m.waitToRetry(ctx, &in, err) {
			continue
		}
		m.recovered()
		m.unanswered(ctx, in, err)
		m.run.state.Inputs = append(in.Inputs, m.run.state.Inputs...) // no model has read them
		return out, err
	}
}

// waitToRetry waits until the model can be called again, or selects the next provider.
func (m *modelCalls) waitToRetry(ctx workflow.Context, in *activities.GenerateIn, err error) bool {
	switch errorType, _ := failure(err); errorType {
	case activities.ErrorWorkerDied, activities.ErrorPrompt, activities.ErrorStoreBehind, activities.ErrorFailedBefore:
		return false // no provider is to blame
	}
	if m.waitOut(ctx, err) {
		in.Fallback = nil
		return true
	}
	return ctx.Err() == nil && m.fallBack(in, err)
}

// unanswered writes the agent's first request to the transcript if no model has answered it and none
// will. Otherwise the transcript would be empty.
func (m *modelCalls) unanswered(ctx workflow.Context, in activities.GenerateIn, err error) {
	if m.run.turns || !m.asked || m.run.state.Model != "" {
		return
	}
	result := m.run.stopped(ctx, err)
	cleanup, _ := workflow.NewDisconnectedContext(ctx)
	const summary = "record the unanswered call"
	asked := activities.UnansweredIn{Call: in, Why: fit(cmp.Or(result.Error, string(result.StopReason)), maxWhy)}
	record := step{activity: act.Unanswered, in: asked, summary: summary, within: storeWithin}
	if err := record.run(workflow.WithScheduleToCloseTimeout(storeOptions(cleanup, summary), lastWord), nil); err != nil {
		workflow.GetLogger(ctx).Warn("the unanswered call is not in the transcript", "execution", m.run.in.Ref.Execution, "error", err)
	}
}

// try calls the model once. If the agent is paused, it waits first.
func (m *modelCalls) try(ctx workflow.Context, in activities.GenerateIn) (out activities.GenerateOut, err error) {
	if err := m.run.awaitResume(ctx); err != nil {
		return out, err
	}
	m.asked = true
	in.Provider = m.run.state.Provider
	model := m.run.in.Agent.Model(in.Provider)
	if m.streak == nil {
		m.run.note(ctx, "waiting for "+model)
	}
	summary := fmt.Sprintf("%s · iteration %d", model, in.Iteration)
	ending := workflow.GetInfo(ctx).GetContinueAsNewSuggested()
	if !ending && m.quick(ctx, in) {
		m.canEnd = false
		err = workflow.ExecuteLocalActivity(quickOptions(ctx, summary), act.Generate, in).Get(ctx, &out)
		if err != nil && ctx.Err() != nil {
			m.run.state.Iteration-- // if it stored a reply anyway, the final call finds it (out.Other)
			return out, err
		}
		if err == nil || lasts(err) {
			return out, err
		}
		errorType, _ := failure(err)
		in.Begun = errorType == activities.ErrorReplaced
	}
	err = workflow.ExecuteActivity(generateOptions(ctx, m.run.in.Agent.Timeouts, summary), act.Generate, in).Get(ctx, &out)
	m.listened = workflow.Now(ctx)
	m.canEnd = err == nil && !out.Kept && (ending || !out.Quick)
	return out, err
}

// quick reports whether the model is called within the workflow task. Results that the workflow decided must be
// in the history before a model sees them.
func (m *modelCalls) quick(ctx workflow.Context, in activities.GenerateIn) bool {
	decided := func(i activities.Input) bool { return i.Kind == activities.InputResult }
	return m.run.state.Quick && workflow.Now(ctx).Sub(m.listened) < maxTaskTime &&
		m.run.in.Agent.Pattern == agent.Iterating && !m.run.turns && m.run.orchestration == nil && m.run.in.Ref.Stage != plan.ScoringStage &&
		!slices.ContainsFunc(in.Inputs, decided)
}

// maxTaskTime bounds how long an agent makes quick calls before it lets the workflow task end, because
// a workflow receives signals only between its tasks. Calls in progress may take a second more.
const maxTaskTime = 500 * time.Millisecond

// replied adds the usage of a model call. It returns an error if a bound prevented the call.
func (m *modelCalls) replied(out activities.GenerateOut) (activities.GenerateOut, error) {
	m.run.state.Usage = m.run.state.Usage.Add(out.Usage)
	m.run.replaceSeen(out.Seen)
	m.run.state.Model, m.run.state.Quick = cmp.Or(out.Model, m.run.state.Model), out.Quick
	if out.Exceeded != "" && !out.Other {
		return out, boundReached{out.Exceeded}
	}
	return out, nil
}

// fallBack selects the next provider. It returns false if there is none.
func (m *modelCalls) fallBack(in *activities.GenerateIn, err error) bool {
	if m.run.state.Provider+1 >= len(m.run.in.Agent.Models) {
		return false
	}
	errorType, message := failure(err)
	in.Fallback = &activities.Failure{ErrorType: errorType, Error: clip.Text(message, 500), Try: in.Try}
	m.run.state.Provider++
	m.recovered()
	return true
}

// repeatRequest decides whether to repeat the request after a reply without tool calls,
// and adds the reason to the next inputs.
func (r *agentRun) repeatRequest(out activities.GenerateOut) bool {
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

// waitOut waits until the failed provider can be tried again. retry is false if its tries or its
// time are used up.
func (m *modelCalls) waitOut(ctx workflow.Context, err error) (retry bool) {
	said := trouble(err)
	s := m.failedTry(ctx, err, said)
	limit := activities.Tries(s.ErrorType)
	if limit > 0 && s.tries[s.ErrorType] >= limit || m.struckOut() {
		return false
	}
	now := workflow.Now(ctx)
	after := said.RetryAfter.D()
	tries := fmt.Sprintf("%s/%s/%d/", m.run.in.Ref.Investigation, m.run.in.Ref.Execution, m.run.state.Iteration)
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
	m.run.note(ctx, "waiting for "+s.String())
	if s.long {
		m.run.waitReporter.changed()
	}
	hurried := m.run.steering.Concluding
	_, err = workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: wait, TimerOptions: workflow.TimerOptions{Summary: "retry of " + s.Model},
	}, func() bool { return m.run.steering.Concluding != hurried })
	return err == nil
}

// failedTry adds a failed try to the provider's streak.
func (m *modelCalls) failedTry(ctx workflow.Context, err error, said activities.Trouble) *streak {
	now := workflow.Now(ctx)
	errorType, message := failure(err)
	if m.streak == nil {
		m.streak = &streak{tries: map[string]int{}, Outage: Outage{Agent: m.run.in.Agent.Name, Execution: m.run.in.Ref.Execution, Since: now}}
	}
	s := m.streak
	s.Tries++
	s.tries[errorType]++
	switch {
	case !activities.Strike(errorType):
		s.strikes = 0
	case said.Open: // other agents reached the limit of strikes
		s.strikes = max(s.strikes, m.run.in.Agent.Strikes)
	default:
		s.strikes++
	}
	s.ErrorType, s.Error = errorType, clip.Text(message, 200)
	s.Provider, s.Model = said.Provider, m.run.in.Agent.Model(m.run.state.Provider)
	s.Fallback = m.run.in.Agent.Model(m.run.state.Provider + 1)
	s.Until = s.Since.Add(m.outageLimit(errorType))
	if m.run.steering.Concluding && s.hurried.IsZero() {
		s.hurried = now.Add(outageHurried)
	}
	if !s.hurried.IsZero() && s.hurried.Before(s.Until) {
		s.Until = s.hurried
	}
	return s
}

// struckOut reports that this model is down and another one is configured.
func (m *modelCalls) struckOut() bool {
	return m.run.in.Agent.Strikes > 0 && m.streak.Fallback != "" && m.streak.strikes >= m.run.in.Agent.Strikes
}

func (m *modelCalls) outageLimit(errorType string) time.Duration {
	switch {
	case errorType == activities.ErrorWorkerCannot:
		return activities.WorkerWait
	case m.run.in.Agent.Timeouts.Outage > 0:
		return m.run.in.Agent.Timeouts.Outage.D()
	case m.streak.Fallback != "":
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
func (m *modelCalls) recovered() {
	if m.streak != nil && m.streak.long {
		m.run.waitReporter.changed()
	}
	m.streak = nil
}

// outage returns the outage that the agent waits for. It is nil if there is none, or only a short one.
func (m *modelCalls) outage() *Outage {
	if m.streak == nil || !m.streak.long {
		return nil
	}
	out := m.streak.Outage
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

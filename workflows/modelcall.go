package workflows

import (
	"cmp"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/clip"
)

// generate makes one model call: again while its provider is away, and then falling
// back from provider to provider.
func (r *agentRun) generate(ctx workflow.Context, conclude bool) (activities.GenerateOut, error) {
	r.state.Iteration++
	in := activities.GenerateIn{
		Ref: r.in.Ref, Iteration: r.state.Iteration, Conclude: conclude, Reserve: r.reserve, Inputs: r.state.Inputs,
	}
	if r.state.Iteration == 1 {
		in.Prior, in.Peers, in.Earlier, in.Notes = r.in.Prior, r.in.Peers, r.in.Earlier, r.in.Notes
	}
	r.state.Inputs = nil
	for in.Try = 1; ; in.Try++ {
		var out activities.GenerateOut
		err := survived(ctx, "model call of "+r.in.Agent.Name, 0, func(n int) (err error) {
			if n > 1 {
				in.Try++
			}
			out, err = r.try(ctx, in)
			return err
		})
		if err == nil {
			r.recovered()
			return r.replied(out)
		}
		r.state.Usage = r.state.Usage.Add(trouble(err).Usage)
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
	if errorType, _ := failure(err); errorType == activities.ErrorWorkerDied {
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
	cleanup = workflow.WithScheduleToCloseTimeout(storeOptions(cleanup, "what was asked"), lastWord)
	asked := activities.UnansweredIn{Call: in, Why: fit(cmp.Or(result.Error, string(result.StopReason)), maxWhy)}
	if err := workflow.ExecuteActivity(cleanup, act.Unanswered, asked).Get(cleanup, nil); err != nil {
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
	options := generateOptions(ctx, r.in.Agent.Timeouts, fmt.Sprintf("%s · iteration %d", model, in.Iteration))
	err = workflow.ExecuteActivity(options, act.Generate, in).Get(ctx, &out)
	return out, err
}

// replied takes in what a model call took; the error is the bound that forbade it.
func (r *agentRun) replied(out activities.GenerateOut) (activities.GenerateOut, error) {
	r.state.Usage = r.state.Usage.Add(out.Usage)
	r.state.Model = cmp.Or(out.Model, r.state.Model)
	if out.Exceeded != "" {
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

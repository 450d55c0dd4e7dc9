package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
)

// A heartbeat lets an agent continue without new input (spec: agents,
// "Heartbeats"). It is unrelated to an activity's heartbeat.

// sleepFor pauses the agent's heartbeats from now on; a second pause overwrites the first.
func (r *agentRun) sleepFor(ctx workflow.Context, minutes int) {
	r.state.PausedUntil = workflow.Now(ctx).Add(time.Duration(minutes) * time.Minute)
}

// asleep reports whether the agent has paused its heartbeats.
func (r *agentRun) asleep(ctx workflow.Context) bool {
	return r.state.PausedUntil.After(workflow.Now(ctx))
}

// wake ends a pause, if there is one.
func (r *agentRun) wake() { r.state.PausedUntil = time.Time{} }

// sleep waits until the pause of the heartbeats is over or a person ends it, and
// then tells the model.
func (r *agentRun) sleep(ctx workflow.Context) error {
	r.sleeping = true
	r.teller.changed()
	defer func() {
		r.sleeping = false
		r.teller.changed()
	}()
	for r.asleep(ctx) {
		until := r.state.PausedUntil
		r.note(ctx, "heartbeats paused until "+until.UTC().Format(time.RFC3339)+"; wakes on resume-heartbeats, guide or conclude")
		options := workflow.AwaitOptions{
			Timeout:      until.Sub(workflow.Now(ctx)),
			TimerOptions: workflow.TimerOptions{Summary: "heartbeats paused"},
		}
		changed := func() bool { return r.steering.Concluding || r.state.PausedUntil != until }
		if _, err := workflow.AwaitWithOptions(ctx, options, changed); err != nil {
			return err
		}
		if r.steering.Concluding {
			break
		}
	}
	r.wake()
	r.state.Inputs = append(r.state.Inputs, activities.Input{Kind: activities.InputAwake})
	return nil
}

// clamped is the length of the pause in minutes: from 1 to 60, or 2 if no usable value is given.
func (p PauseHeartbeats) clamped() int {
	if p.Minutes == nil {
		return defaultPause
	}
	return min(max(*p.Minutes, 1), 60)
}

const defaultPause = 2 // minutes

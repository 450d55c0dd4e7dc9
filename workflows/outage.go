package workflows

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/clip"
)

// streak is the tries of one provider that have failed one after the other.
type streak struct {
	Outage
	tries map[string]int // by error type
	// long: it is an outage; people are told, and no clock runs meanwhile.
	long bool
	// hurried is the end of the patience of an agent that was told to conclude.
	hurried time.Time
}

// waitOut waits until the failed provider is to be tried again; again is false if it has
// used up its tries, or its time.
func (r *agentRun) waitOut(ctx workflow.Context, err error) (again bool) {
	said := trouble(err)
	s := r.failedTry(ctx, err, said.Provider)
	limit := activities.Tries(s.ErrorType)
	if limit > 0 && s.tries[s.ErrorType] >= limit {
		return false
	}
	now := workflow.Now(ctx)
	after := said.RetryAfter.D()
	tries := fmt.Sprintf("%s/%s/%d/", r.in.Ref.Investigation, r.in.Ref.Execution, r.state.Iteration)
	wait := max(backoff(s.Tries, tries), after)
	left := s.Until.Sub(now)
	if left <= 0 || after > left {
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
func (r *agentRun) failedTry(ctx workflow.Context, err error, provider string) *streak {
	now := workflow.Now(ctx)
	errorType, message := failure(err)
	if r.streak == nil {
		r.streak = &streak{tries: map[string]int{}, Outage: Outage{Agent: r.in.Agent.Name, Execution: r.in.Ref.Execution, Since: now}}
	}
	s := r.streak
	s.Tries++
	s.tries[errorType]++
	s.ErrorType, s.Error = errorType, clip.Text(message, 200)
	s.Provider, s.Model = provider, r.in.Agent.Model(r.state.Provider)
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

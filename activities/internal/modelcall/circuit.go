package modelcall

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
)

const (
	// firstLook and longestLook bound the interval between checks of a model that others are probing.
	firstLook, longestLook = 50 * time.Millisecond, 500 * time.Millisecond
	renewEvery             = circuit.Claim / 3
	// outcomeTimeout bounds the report of a call's outcome to the shared circuit, whatever happened to the call.
	outcomeTimeout = 10 * time.Second
)

// permit allows one model call and records its outcome. The caller must end it with done.
type permit struct {
	*job.Worker
	key       circuit.Key
	by        circuit.Conversation
	verdict   circuit.Verdict
	streaming atomic.Bool // some output has arrived
	done      func()
}

// permitFor waits for the agent's turn to call a model, or returns an error if the model's circuit is open. other reports
// that there is another model to fall back on, so this call can be skipped.
func permitFor(ctx context.Context, j *job.Job, p *plan.Provider, other bool) (*permit, error) {
	leave := &permit{
		Worker: j.Worker, key: circuit.Key{Provider: p.Name, Model: p.Model}, done: func() {},
		by: circuit.Conversation{Investigation: j.Ref.Investigation, Execution: j.Ref.Execution},
	}
	if j.Circuits == nil {
		return leave, nil
	}
	for look := firstLook; ; look = min(2*look, longestLook) {
		if err := leave.ask(ctx); err != nil {
			return leave, fmt.Errorf("read the circuit of %s: %w", p.Name, err)
		}
		v := leave.verdict
		switch {
		case v.Open != nil && !other && failsSoon(v.Open.Last.ErrorType): // as it would without a circuit
			return leave, nil
		case v.Open != nil:
			return leave, openCircuit(p, v)
		case v.Wait == 0:
			leave.renew(ctx)
			return leave, nil
		}
		select {
		case <-ctx.Done():
			return leave, ctx.Err()
		case <-time.After(min(look, v.Wait)):
		}
	}
}

// failsSoon reports whether this kind of error is not worth waiting for.
func failsSoon(errorType string) bool {
	return job.Tries(errorType) == 1 || errorType == job.ErrorNotAModel
}

// ask reads the state first, because most of the time the model is known to work. It changes the state only to reserve a
// probe or to report that the agent waits.
func (l *permit) ask(ctx context.Context) error {
	probe := rand.Text()
	state, now, err := l.Circuits.Circuit(ctx, l.key)
	if err != nil {
		return err
	}
	warm := state.Warm(now, l.by)
	l.verdict = state.Ask(now, l.by, probe)
	switch {
	case warm:
		return nil
	case l.verdict.Open != nil && state.Waits(l.by):
		return l.Circuits.ChangeCircuit(ctx, l.key, func(s *circuit.State, _ time.Time) { s.Await(l.by) })
	case l.verdict.Wait > 0:
		return nil
	}
	return l.Circuits.ChangeCircuit(ctx, l.key, func(s *circuit.State, now time.Time) { l.verdict = s.Ask(now, l.by, probe) })
}

// openCircuit is the error of a call that was not made. Workflows that began before circuits existed treat it as an
// unavailable model, and wait as well.
func openCircuit(p *plan.Provider, v circuit.Verdict) error {
	kind := llm.ErrUnavailable
	if v.Open.Last.Limited {
		kind = llm.ErrRateLimited
	}
	err := &llm.Error{Kind: kind, Provider: p.Name, RetryAfter: v.Wait, Message: v.Open.String()}
	return job.ModelFailure(err, job.Trouble{Provider: p.Name, Open: true})
}

// renew keeps a probe's place until the permit is closed.
func (l *permit) renew(ctx context.Context) {
	if l.verdict.Probe == "" {
		return
	}
	ctx, l.done = context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(renewEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			// Ignore the error: a missed renewal only lets a second probe through.
			_ = l.Circuits.ChangeCircuit(ctx, l.key, func(s *circuit.State, now time.Time) { s.Renew(now, l.verdict.Probe) })
		}
	}()
}

// outputArrived records that output is arriving. If the model's state was unknown, it informs all workers at once.
func (l *permit) outputArrived(ctx context.Context) {
	if !l.streaming.Swap(true) && l.verdict.Cold {
		_ = l.Circuits.ChangeCircuit(ctx, l.key, (*circuit.State).Heard) // the reply reports it again
	}
}

// ended records how the call ended; nil means with an answer. An error that says nothing about the model, such as a
// person's cancellation, leaves a probe's place to expire. It returns how, or an ownFailure if the provider fails only
// for this conversation.
func (l *permit) ended(ctx context.Context, how error) error {
	l.done()
	var own bool
	change := l.outcome(how, &own)
	if l.Circuits == nil || change == nil {
		return how
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeTimeout)
	defer cancel()
	state, now, err := l.Circuits.Circuit(ctx, l.key)
	if err == nil && how == nil && state.Known(now, l.by) {
		return how
	}
	if err = errors.Join(err, l.Circuits.ChangeCircuit(ctx, l.key, change)); err != nil {
		l.Logger.Warn("the outcome of a model call was not recorded for the fleet",
			"provider", l.key.Provider, "model", l.key.Model, "error", err)
	}
	if own {
		return ownFailure{how}
	}
	return how
}

// outcome returns the change to the circuit that a call's end causes; nil means none.
func (l *permit) outcome(how error, own *bool) func(*circuit.State, time.Time) {
	name, said := job.ErrorType(how), job.LLMError(how)
	switch {
	case how == nil, errors.Is(how, llm.ErrContentFiltered), job.ContentError(name) && said.Status != 0: // a refusal is an answer, too
		return func(s *circuit.State, now time.Time) { s.Answered(now, l.by) }
	case name == "", name == job.ErrorWorkerCannot, job.ContentError(name), name == job.ErrorModelTimeout && l.streaming.Load():
		return nil
	}
	failed := circuit.Failure{
		ErrorType: name, Error: job.Clipped(how.Error()), Limited: name == job.ErrorRateLimited, RetryAfter: max(said.RetryAfter, 0),
		By: l.by, Probe: l.verdict.Probe, Began: l.verdict.Now,
	}
	return func(s *circuit.State, now time.Time) { *own = s.Failed(now, failed) }
}

// ownFailure attributes a provider's failure to the conversation.
type ownFailure struct{ err error }

// Error names the conversation before the provider's own message.
func (f ownFailure) Error() string {
	said := job.LLMError(f.err)
	if said.Kind == nil {
		return fmt.Sprintf("%v: %v", job.ErrConversation, f.err)
	}
	how := said.Kind.Error()
	if said.Status != 0 {
		how = fmt.Sprintf("HTTP %d", said.Status)
	}
	if said.Message != "" {
		how += ": " + said.Message
	}
	return fmt.Sprintf("%s: the provider fails on this conversation (%s) while it answers others", said.Provider, how)
}

// Unwrap lets errors.Is and errors.As find both errors.
func (f ownFailure) Unwrap() []error { return []error{job.ErrConversation, f.err} }

package activities

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
)

const (
	// firstLook and longestLook are between two looks at a model that others try for the first time.
	firstLook, longestLook = 50 * time.Millisecond, 500 * time.Millisecond
	renewEvery             = circuit.Claim / 3
	// tellWithin bounds what the fleet is told after a call, whatever has become of that.
	tellWithin = 10 * time.Second
)

// permit lets one call of a model through, and takes in what came of it. Whoever has one ends it (done).
type permit struct {
	*Activities
	key     circuit.Key
	by      circuit.Conversation
	verdict circuit.Verdict
	heard   atomic.Bool // something has arrived
	done    func()
}

// permit waits for the agent's turn to ask a model, or says that the model's circuit is open. other: there is
// another model to ask, so that this one need not be asked in vain.
func (a *job) permit(ctx context.Context, p plan.Provider, other bool) (*permit, error) {
	leave := &permit{
		Activities: a.Activities, key: circuit.Key{Provider: p.Name, Model: p.Model}, done: func() {},
		by: circuit.Conversation{Investigation: a.ref.Investigation, Execution: a.ref.Execution},
	}
	if a.Circuits == nil {
		return leave, nil
	}
	for look := firstLook; ; look = min(2*look, longestLook) {
		if err := leave.ask(ctx); err != nil {
			return leave, fmt.Errorf("ask whether %s is to be asked: %w", p.Name, err)
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

// failsSoon reports whether a model that fails so is not waited for.
func failsSoon(errorType string) bool { return Tries(errorType) == 1 || errorType == ErrorNotAModel }

// ask looks first, and takes a place only where there is one: most models answer.
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

// openCircuit is how a call ends that was not made. Workflows of before circuits take it for a
// model that is away, and wait, too.
func openCircuit(p plan.Provider, v circuit.Verdict) error {
	kind := llm.ErrUnavailable
	if v.Open.Last.Limited {
		kind = llm.ErrRateLimited
	}
	err := &llm.Error{Kind: kind, Provider: p.Name, RetryAfter: v.Wait, Message: v.Open.String()}
	return modelFailure(err, Trouble{Provider: p.Name, Open: true})
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
			// One that fails is as good as one that comes late: another probe may be made beside this one.
			_ = l.Circuits.ChangeCircuit(ctx, l.key, func(s *circuit.State, now time.Time) { s.Renew(now, l.verdict.Probe) })
		}
	}()
}

// hear takes in that something arrives. If nobody knew whether the model is alive, all are told at once.
func (l *permit) hear(ctx context.Context) {
	if !l.heard.Swap(true) && l.verdict.Cold {
		_ = l.Circuits.ChangeCircuit(ctx, l.key, (*circuit.State).Heard) // the reply says it again
	}
}

// ended records how the call ended; nil means with an answer. What says nothing about the model, such as
// a person's cancellation, leaves a probe's place to expire. It returns how, or that the provider fails on this conversation
// alone.
func (l *permit) ended(ctx context.Context, how error) error {
	l.done()
	var own bool
	change := l.outcome(how, &own)
	if l.Circuits == nil || change == nil {
		return how
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellWithin)
	defer cancel()
	state, now, err := l.Circuits.Circuit(ctx, l.key)
	if err == nil && how == nil && state.Known(now, l.by) {
		return how
	}
	if err = errors.Join(err, l.Circuits.ChangeCircuit(ctx, l.key, change)); err != nil {
		l.Logger.Warn("the fleet does not know how a model's call ended", "provider", l.key.Provider, "model", l.key.Model, "error", err)
	}
	if own {
		return ownFailure{how}
	}
	return how
}

// outcome is what a call's end changes; nil means nothing.
func (l *permit) outcome(how error, own *bool) func(*circuit.State, time.Time) {
	name, said := errorType(how), llmError(how)
	switch {
	case how == nil, errors.Is(how, llm.ErrContentFiltered), ContentError(name) && said.Status != 0: // a refusal is an answer, too
		return func(s *circuit.State, now time.Time) { s.Answered(now, l.by) }
	case name == "", name == ErrorWorkerCannot, ContentError(name), name == ErrorModelTimeout && l.heard.Load():
		return nil
	}
	failed := circuit.Failure{
		ErrorType: name, Error: clipped(how.Error()), Limited: name == ErrorRateLimited, RetryAfter: max(said.RetryAfter, 0),
		By: l.by, Probe: l.verdict.Probe, Began: l.verdict.Now,
	}
	return func(s *circuit.State, now time.Time) { *own = s.Failed(now, failed) }
}

// errConversation is how a model call ends on which the provider fails again and again, while it answers others.
var errConversation = errors.New("the provider fails on this conversation while it answers others")

// ownFailure makes a provider's failure the conversation's own.
type ownFailure struct{ err error }

// Error names the conversation before the provider's own words.
func (f ownFailure) Error() string {
	said := llmError(f.err)
	if said.Kind == nil {
		return fmt.Sprintf("%v: %v", errConversation, f.err)
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

// Unwrap makes errors.Is and errors.As find both.
func (f ownFailure) Unwrap() []error { return []error{errConversation, f.err} }

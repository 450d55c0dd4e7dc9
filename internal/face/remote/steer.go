package remote

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/workflows"
)

// Start starts an investigation. The API follows its own configuration to mask data and detect duplicates, and takes the
// author from the token. Retries after a lost response do not start a second investigation.
func (r *Client) Start(ctx context.Context, s system.Start) (system.Handle, error) {
	q := s.Request
	in := system.StartIn{Body: bodyOf(s)}
	if q.Fingerprint == "" || q.Again { // a fingerprint replaces the key
		in.Key = rand.Text()
	}
	out, err := persist(ctx, r, patiently(), func() (system.Started, error) { return do(ctx, r, system.StartInvestigation, in) })
	h := system.HandleOf(out.ID, true)
	h.Known = out.Known
	return h, err
}

// Steer sends one of system.Signals. Here and below, the API takes the author from the token.
func (r *Client) Steer(ctx context.Context, id, name string, payload any) (system.Steered, error) {
	signal, ok := system.SignalNamed(name)
	if !ok {
		return system.Steered{}, &system.InputError{Err: fmt.Errorf("the API cannot send the signal %q", name)}
	}
	in, err := signal.Request(id, payload)
	if err != nil {
		return system.Steered{}, err
	}
	out := system.Steered{}
	err = r.Call(ctx, signal.Operation(), in, &out)
	out.ID = cmp.Or(out.ID, id)
	return out, err
}

func (r *Client) CancelAs(ctx context.Context, id string, _ agent.Identity) (system.Handle, error) {
	out, err := do(ctx, r, system.Cancel, system.ByID{ID: id})
	return system.HandleOf(out.ID, false), err
}

// on makes a message to an investigation.
func on[T any](id string, body T) system.Steer[T] {
	return system.Steer[T]{ByID: system.ByID{ID: id}, Body: body}
}

func (r *Client) Decide(ctx context.Context, id string, d workflows.Decide) (system.Decided, error) {
	return do(ctx, r, system.Decide, on(id, system.DecideBody{
		CallID: d.CallID, Approved: d.Approved, Arguments: d.Arguments, Ask: d.Ask, HandTo: d.HandTo, Reason: d.Reason, Digest: d.Digest,
	}))
}

func (r *Client) Answer(ctx context.Context, id string, a workflows.Answer) (workflows.Interrupt, error) {
	return do(ctx, r, system.Answer, on(id, system.AnswerBody{
		ID: a.ID, Text: a.Text, Approved: a.Approved, Decision: a.Decision, Data: a.Data,
	}))
}

func (r *Client) Extend(ctx context.Context, id string, e workflows.ExtendBudget) (workflows.Budget, error) {
	b := system.ExtendBody{Extension: e.Extension}
	if e.Duration > 0 {
		b.Duration = e.Duration.D().String()
	}
	return do(ctx, r, system.ExtendBudget, on(id, b))
}

func (r *Client) Score(ctx context.Context, id, _ string) (j system.Judging, err error) {
	w, err := r.Outcome(ctx, id)
	if err != nil {
		return j, err
	}
	for _, s := range w.Scores {
		j.Before = max(j.Before, s.N)
	}
	out, err := do(ctx, r, system.Score, system.ByID{ID: id})
	j.ID = out.ID
	return j, err
}

// Wait waits for a score that is newer than the previous ones.
func (r *Client) Wait(ctx context.Context, j system.Judging) (record.Score, error) {
	for {
		w, err := persist(ctx, r, passing, func() (system.Record, error) { return r.Outcome(ctx, j.ID) })
		if err != nil {
			return record.Score{}, err
		}
		for _, s := range w.Scores {
			if s.N > j.Before && s.Status.Closed() {
				return s, nil
			}
		}
		pause(ctx, pollEvery)
	}
}

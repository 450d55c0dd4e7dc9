package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

// Start starts an investigation. The API masks the data and detects duplicates by its own configuration, and takes the author from
// the token. Retries after a lost response do not start a second investigation.
func (r *Remote) Start(ctx context.Context, s client.Start) (client.Handle, error) {
	q := s.Request
	b := startBody{
		Project: q.Project, Chain: q.Chain, AlertType: q.AlertType, AllowEmpty: q.AllowEmpty, Attach: q.Attach, Provider: q.Provider,
		Runbook: q.Runbook, UseMock: q.UseMock, MCP: q.MCP, Budgets: q.Budgets, Tenant: q.Tenant, Session: q.Session,
		Priority: q.Priority, Fingerprint: q.Fingerprint, Metadata: q.Metadata, Again: q.Again,
	}
	if s.Data != "" {
		b.Data, _ = json.Marshal(s.Data) // text always encodes
	}
	header := http.Header{}
	if q.Fingerprint == "" || q.Again { // a fingerprint replaces the key
		header.Set("Idempotency-Key", rand.Text())
	}
	out, err := persist(ctx, r, patiently(), func() (started, error) {
		return callWithin[started](ctx, r, remoteTimeout, http.MethodPost, investigations, b, header)
	})
	h := client.HandleOf(out.ID, true)
	h.Known = out.Known
	return h, err
}

// Steer sends a signal. Here and below, the API takes the author from the token.
func (r *Remote) Steer(ctx context.Context, id, name string, in any) (client.Steered, error) {
	var content any
	switch in := in.(type) {
	case workflows.Guide:
		content = guideBody{in.Text, Target{in.Stage, in.Agent}}
	case workflows.Conclude:
		content = Target{in.Stage, in.Agent}
	}
	out, err := of[steered](ctx, r, http.MethodPost, ofInvestigations, id, "/"+name, content)
	return client.Steered{
		Handle: client.HandleOf(cmp.Or(out.ID, id), true), Taken: workflows.Taken{For: out.For}, Left: out.Signal, Was: out.Was,
	}, err
}

func (r *Remote) CancelAs(ctx context.Context, id string, _ client.Identity) (client.Handle, error) {
	out, err := of[named](ctx, r, http.MethodPost, ofInvestigations, id, "/cancel", nil)
	return client.HandleOf(out.ID, false), err
}

func (r *Remote) Decide(ctx context.Context, id string, d workflows.Decide) (client.Decided, error) {
	return of[client.Decided](ctx, r, http.MethodPost, ofInvestigations, id, "/decide", decideBody{
		CallID: d.CallID, Approved: d.Approved, Arguments: d.Arguments, Ask: d.Ask, HandTo: d.HandTo, Reason: d.Reason, Digest: d.Digest,
	})
}

func (r *Remote) Answer(ctx context.Context, id string, a workflows.Answer) (workflows.Interrupt, error) {
	return of[record.Question](ctx, r, http.MethodPost, ofInvestigations, id, "/answer", answerBody{
		ID: a.ID, Text: a.Text, Approved: a.Approved, Decision: a.Decision, Data: a.Data,
	})
}

func (r *Remote) Extend(ctx context.Context, id string, e workflows.ExtendBudget) (workflows.Budget, error) {
	b := extendBody{Extension: e.Extension}
	if e.Duration > 0 {
		b.Duration = e.Duration.D().String()
	}
	return of[workflows.Budget](ctx, r, http.MethodPost, ofInvestigations, id, "/extend-budget", b)
}

func (r *Remote) Score(ctx context.Context, id, _ string) (j client.Judging, err error) {
	w, err := r.Outcome(ctx, id)
	if err != nil {
		return j, err
	}
	for _, s := range w.Scores {
		j.Before = max(j.Before, s.N)
	}
	out, err := of[named](ctx, r, http.MethodPost, ofInvestigations, id, "/score", nil)
	j.ID = out.ID
	return j, err
}

// Wait waits for a score that is newer than the previous ones.
func (r *Remote) Wait(ctx context.Context, j client.Judging) (record.Score, error) {
	for {
		w, err := persist(ctx, r, passing, func() (client.Whole, error) { return r.Outcome(ctx, j.ID) })
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

// Store always fails: users of the API have no access to the store.
func (r *Remote) Store(context.Context) (*store.Store, error) {
	return nil, &client.InputError{Err: errors.New("this takes the workers' store itself, which the API (--server) does not give away")}
}

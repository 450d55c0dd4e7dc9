package app

import (
	"context"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Evaluation makes a worker try an investigation again without effects. It reaches only the tools and models below: it fetches no
// runbook, asks no person, notifies nobody, exports no trace, and neither scores nor learns. It needs no credentials to start.
type Evaluation struct {
	// Tools returns the tools to use in place of the real ones, which it gets.
	Tools func(live tool.Caller) tool.Caller
	// Model returns the client to use in place of a provider's own; nil means the own one. If that cannot be made, own only fails.
	Model func(own llm.Client) llm.Client
	// NativeTools allows the tools that a provider runs itself.
	NativeTools bool
}

// confine removes everything else that activities reach, and what measures by another clock than the workflows'.
func (e *Evaluation) confine(act *activities.Activities, p planner, m *Models) {
	act.Replayed = true
	if e.Model != nil {
		act.Models = evaluated{m, e.Model}
	}
	act.Circuits, act.Embeddings, act.Runbooks, act.Limits = nil, nil, nil, unlimited{}
	act.Planner = evaluationPlanner{p, e.NativeTools}
}

// unlimited never limits a rate.
type unlimited struct{}

// Reserve returns no wait.
func (unlimited) Reserve(context.Context, ratelimit.Reservation) (time.Duration, error) {
	return 0, nil
}

// evaluationPlanner makes plans without the parts that an evaluation leaves out.
type evaluationPlanner struct {
	planner
	nativeTools bool
}

// Plan refuses chains that ask people.
func (e evaluationPlanner) Plan(ctx context.Context, req agent.Request, data string) (plan.Plan, error) {
	p, err := e.planner.Plan(ctx, req, data)
	if err != nil {
		return p, err
	}
	if err := p.Unattended(); err != nil {
		return p, fmt.Errorf("the chain cannot be evaluated: %w", err)
	}
	p.Scoring, p.Memory, p.Learning, p.RunbookURLs, p.Bounds.OnLimit = nil, nil, nil, nil, plan.OnBoundEnd
	if e.nativeTools {
		return p, nil
	}
	for a := range p.AllAgents() {
		for n := range a.Providers {
			a.Providers[n].NativeTools = plan.NativeTools{}
		}
	}
	return p, nil
}

// evaluated are the clients of an evaluation.
type evaluated struct {
	*Models
	replace func(own llm.Client) llm.Client
}

// Client returns the replacement of a provider's client. There is no other worker to wait for, so an error of this one ends the agent.
func (e evaluated) Client(p plan.Provider, timeouts plan.Timeouts) (llm.Client, error) {
	own, err := e.Models.Client(p, timeouts)
	if err != nil {
		own = unusable{&llm.Error{Kind: llm.ErrNoKey, Provider: p.Name, Message: err.Error()}}
	}
	return e.replace(own), nil
}

// unusable is a client that cannot be made.
type unusable struct{ err *llm.Error }

// Generate returns why.
func (u unusable) Generate(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	return llm.Response{}, u.err
}

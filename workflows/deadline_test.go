package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestTimeToConclude checks that a run whose model never answers ends when its time limit and the time to conclude are over.
func TestTimeToConclude(t *testing.T) {
	t.Parallel()
	const limit = plan.Duration(10 * time.Second)
	first := func(in activities.GenerateIn) bool { return in.Ref.Execution == "s1/A" && in.Iteration == 1 }
	for name, tt := range map[string]struct {
		types    []string
		conclude plan.Duration
		set      func(*plan.Plan)
		hangs    func(in activities.GenerateIn) bool // nil = every call
		took     time.Duration
		status   agent.Status
	}{
		"investigation": {conclude: plan.Duration(2 * time.Minute),
			set: func(p *plan.Plan) { p.Timeout = limit }, took: 20 * time.Second, status: agent.StatusTimedOut},
		"investigation with a long limit": {conclude: plan.Duration(5 * time.Minute),
			set: func(p *plan.Plan) { p.Timeout = plan.Duration(time.Hour) }, took: 65 * time.Minute, status: agent.StatusTimedOut},
		"plan older than the setting": {
			set: func(p *plan.Plan) { p.Timeout = limit }, took: 130 * time.Second, status: agent.StatusTimedOut},
		"budget of time": {conclude: plan.Duration(2 * time.Minute),
			set: func(p *plan.Plan) { p.Timeout, p.Bounds.MaxDuration = limit, limit }, took: 20 * time.Second, status: agent.StatusCompleted},
		"stage": {conclude: plan.Duration(2 * time.Minute),
			set: func(p *plan.Plan) { p.Stages[0].Timeout = limit }, took: 20 * time.Second, status: agent.StatusTimedOut},
		"agent that has said nothing": {conclude: plan.Duration(2 * time.Minute),
			set: func(p *plan.Plan) { p.Stages[0].Agents[0].Timeouts.Agent = limit }, took: 10 * time.Second, status: agent.StatusTimedOut},
		"agent that has something to conclude from": {conclude: plan.Duration(2 * time.Minute),
			set:   func(p *plan.Plan) { p.Stages[0].Agents[0].Timeouts.Agent = limit },
			hangs: func(in activities.GenerateIn) bool { return !first(in) },
			took:  20 * time.Second, status: agent.StatusTimedOut},
		"stage whose synthesis hangs too": {types: []string{"default", "default", "synthesis"}, conclude: plan.Duration(2 * time.Minute),
			set:   func(p *plan.Plan) { p.Stages[0].Timeout = limit },
			hangs: func(in activities.GenerateIn) bool { return !first(in) },
			took:  30 * time.Second, status: agent.StatusCompleted},
		"investigation whose summary hangs too": {types: []string{"default", "default"}, conclude: plan.Duration(2 * time.Minute),
			set: func(p *plan.Plan) {
				p.Timeout, p.Summary = limit, summed([]string{"default"}).Summary
			},
			hangs: func(in activities.GenerateIn) bool { return !first(in) },
			took:  30 * time.Second, status: agent.StatusTimedOut},
		"one hung call": {conclude: plan.Duration(2 * time.Minute), hangs: func(in activities.GenerateIn) bool { return in.Iteration == 2 },
			set:  func(p *plan.Plan) { p.Stages[0].Agents[0].Timeouts.Agent = plan.Duration(10 * time.Minute) },
			took: 10 * time.Minute, status: agent.StatusCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.types == nil {
				tt.types = []string{"default"}
			}
			f := &fake{plan: planOf(tt.types)}
			f.plan.Conclude = tt.conclude
			for n := range f.plan.Stages[0].Agents {
				f.plan.Stages[0].Agents[n].Timeouts.Conclude = tt.conclude
			}
			tt.set(&f.plan)
			f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
				if len(tt.types) == 1 && !in.Conclude {
					return ask("look"), nil
				}
				return say("what is known"), nil
			}
			env := newEnv(t, f)
			hangs := func(in activities.GenerateIn) bool { return tt.hangs == nil || tt.hangs(in) }
			env.OnActivity(f.Generate, mock.Anything, mock.MatchedBy(hangs)).After(24*time.Hour).Return(say("too late"), nil)
			env.OnActivity(f.Generate, mock.Anything, mock.Anything).Return(f.Generate)
			began := env.Now()
			got := investigated(t, env)
			took := env.Now().Sub(began)
			if took < tt.took || took > tt.took+tt.took/4+5*time.Second || got.Status != tt.status {
				t.Errorf("%s after %s; want %s after %s; %+v", got.Status, took, tt.status, tt.took, got)
			}
		})
	}
}

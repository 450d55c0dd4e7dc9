package workflows

import (
	"errors"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/route"
)

const elicitInput = `{"stage": "…", "question": "…", "data": {…}, "within": "30m"}`

// serveElicitations registers the update with which a tool call puts its server's question to people.
func (r *investigationRun) serveElicitations(ctx workflow.Context) error {
	check := func(e activities.Elicitation) error {
		switch {
		case e.Question == "" || e.Within <= 0:
			return errors.New("the question or its time is missing")
		case !r.runs(e.Stage):
			return errors.New("no stage " + e.Stage + " runs")
		}
		return nil
	}
	return update[activities.Elicitation, activities.Elicited]{
		UpdateElicit, "Internal: the server of a tool asks people something. Input: " + elicitInput, elicitInput,
		reading[activities.Elicitation], check, r.elicit,
	}.serve(ctx)
}

// runs reports whether a run of a stage is in progress.
func (r *investigationRun) runs(stage string) bool {
	return slices.ContainsFunc(r.running, func(s *stageChild) bool { return s.plan.Name == stage })
}

// elicit puts a question to people. The question closes when its time is up or its stage has ended.
func (r *investigationRun) elicit(ctx workflow.Context, e activities.Elicitation) (activities.Elicited, error) {
	if r.state.Asked >= maxAsked {
		return activities.Elicited{}, nil
	}
	r.state.Asked++
	q := &interrupt{Interrupt: Interrupt{
		ID: r.questionID(ctx, "t", r.state.Asked), Kind: string(route.Clarification), Stage: e.Stage, Question: fit(e.Question, maxQuestion),
		Expires: workflow.Now(ctx).Add(e.Within.D()),
	}}
	if jsonSize(e.Data) <= maxQuestion {
		q.Data = e.Data
	}
	r.elicited = append(r.elicited, q)
	paused := func() bool { return r.state.Steering.Paused }
	done := func() bool { return q.answer != nil || r.over(ctx) || !r.runs(e.Stage) }
	_, _ = awaitPeople(ctx, "question "+q.ID, &q.Expires, paused, done, func() {}) // tellStatus notices
	q.closed = true
	r.elicited = slices.DeleteFunc(slices.Clone(r.elicited), func(other *interrupt) bool { return other == q })
	if q.answer == nil {
		said := audit.Detail("kind", q.Kind, "stage", q.Stage, "answer", "nobody answered")
		r.act(ctx, audit.Act{What: audit.Answered, Call: q.ID, Detail: said})
		return activities.Elicited{}, nil
	}
	a := q.answer
	return activities.Elicited{Answered: true, Text: a.Text, Data: a.Data, By: a.By, Declined: a.Approved != nil && !*a.Approved}, nil
}

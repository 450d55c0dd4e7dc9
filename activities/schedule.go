package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/output"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// scheduled records the schedule of a request and its last verdict, and returns the request with what is left of the schedule's cost. It
// refuses a request for which nothing is left.
func (a resolver) scheduled(ctx context.Context, r *record.Investigation, req agent.Request) (agent.Request, error) {
	if req.Schedule == nil {
		return req, nil
	}
	s := *req.Schedule
	r.Project, r.Session, r.Envelope.Schedule = cmp.Or(req.Project, agent.DefaultProject), s.Session(), req.Schedule
	runs, err := a.Records.ScheduleRuns(ctx, r.Project, s, r.ID, a.Now(ctx).Add(-record.ScheduleDay))
	if err != nil {
		return req, err
	}
	if s.Check {
		r.Envelope.Before = runs.Earlier()
	}
	if limit := s.MaxCostPerDay; limit > 0 {
		if s.MaxCostPerDay -= runs.CostUSD; s.MaxCostPerDay <= 0 {
			const text = "the schedule %s has reached its limit: its investigations have cost $%.4g in 24 hours, and max_cost_usd_per_day is " +
				"$%.4g. They start again when earlier ones are older than that"
			return req, refusal(fmt.Errorf(text, s.Name, runs.CostUSD, limit))
		}
	}
	req.Schedule = &s
	return req, nil
}

// verdict returns what a check has found, and its summary. It returns nil and the text itself for an investigation that is no check, or
// that a person has cancelled. text is what the agent says; empty means nothing.
func (a recorder) verdict(ctx context.Context, in FinishIn, report, text string) (*agent.Check, string, error) {
	if in.Plan == "" || in.Envelope.Schedule == nil || in.Status == agent.StatusCancelled {
		return nil, text, nil
	}
	p, err := a.ReadPlan(ctx, in.Plan)
	if err != nil || !p.Check {
		return nil, text, err
	}
	var said struct {
		Verdict  agent.Verdict   `json:"verdict"`
		Problems []agent.Problem `json:"problems"`
		Summary  string          `json:"summary"`
	}
	object, err := output.Object(text, a.Meets("check", plan.Contract{JSON: true, Schema: plan.CheckSchema}))
	if err == nil {
		var body []byte
		if body, err = json.Marshal(object); err == nil {
			err = json.Unmarshal(body, &said)
		}
	}
	out := agent.Check{Verdict: said.Verdict, Problems: said.Problems}
	for n, one := range out.Problems {
		out.Problems[n] = agent.Problem{Name: strings.Join(strings.Fields(one.Name), " "), Detail: strings.TrimSpace(one.Detail)}
	}
	if out.Verdict == agent.VerdictOK && len(out.Problems) > 0 {
		out.Verdict = agent.VerdictProblem
	}
	switch {
	case text == "":
		out = unknown(cmp.Or(in.Error, in.Envelope.SummaryError, "the investigation has no result"))
	case err != nil:
		out = unknown("the agent's verdict cannot be read: " + err.Error())
	case out.Verdict != agent.VerdictUnknown && in.Envelope.NoToolResult:
		out = unknown("no call of a tool has succeeded")
	case out.Verdict == agent.VerdictOK:
		if why := in.incomplete(report); why != "" {
			out = unknown(why)
		}
	}
	out = out.After(in.Envelope.Before)
	return &out, strings.TrimSpace(strings.Join(out.Lines(), "\n") + "\n" + summaryLines(said.Summary)), nil
}

// incomplete says why an investigation may have missed something, so that a check is not ok. An empty string means that it is complete.
func (in FinishIn) incomplete(report string) string {
	switch missing := in.Envelope.NotChecked; {
	case len(missing) > 0:
		return "nothing that " + missing[0].Server + " shows was examined, because its tools were missing"
	case report == "":
		return "the investigation has no report"
	case in.Concluded:
		return "a person has ended the investigation early"
	case in.Status != agent.StatusCompleted || in.EndReason != agent.EndCompleted:
		return "the investigation has not examined everything: " + cmp.Or(in.Error, string(in.EndReason))
	}
	return ""
}

// maxReason limits why a verdict is unknown, in characters.
const maxReason = 300

func unknown(why string) agent.Check {
	return agent.Check{Verdict: agent.VerdictUnknown, Error: clip.Line(why, maxReason)}
}

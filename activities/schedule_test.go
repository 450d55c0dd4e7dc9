package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// scheduled is a configuration whose chain does what the schedule of a request says.
type scheduled struct{ inbox }

func (scheduled) Plan(_ context.Context, req agent.Request, _ string) (plan.Plan, error) {
	if req.Chain != "lab" {
		return plan.Plan{}, fmt.Errorf("unknown chain %q", req.Chain)
	}
	p := plan.Plan{Chain: "lab", Stages: []plan.Stage{{Name: "s", Agents: []plan.Agent{{Name: "A"}}}}}
	p.Bounds.MaxCost = req.Schedule.MaxCostPerDay
	p.Check = req.Schedule.Check
	return p, nil
}

// checked is a schedule that makes one check after the other.
type checked struct {
	*bench
	runs int
}

// check makes a check whose agent says a text, and returns what it found. change changes how the investigation ends. An empty text
// means that there is no summary.
func (c *checked) check(text string, looked bool, change func(*activities.FinishIn)) (*agent.Check, string) {
	c.t.Helper()
	c.runs++
	id := fmt.Sprintf("w%d:1", c.runs)
	const request = `{"chain":"lab","data":"is it well?","schedule":{"name":"nightly","every":"1h","check":true}}`
	c.act.Requests, c.act.Planner = inbox(request), scheduled{}
	var out activities.ResolveOut
	value, err := c.env.ExecuteActivity(c.act.Resolve, activities.ResolveIn{Investigation: id, RunID: "run"})
	if err != nil || value.Get(&out) != nil {
		c.t.Fatal(err)
	}
	c.ref = activities.Ref{Investigation: id, Execution: "s/A", Plan: out.Plan}
	result := c.handsOn("s/A", "The report.")
	if looked {
		_, err := c.store.Append(c.t.Context(), transcript.Step{
			Scope: c.here(), Writer: transcript.Writer{RunID: "r", ActivityID: "2"},
			Rows: []transcript.Row{{Key: transcript.ResultKey(1, 0), Kind: transcript.KindResult, Body: transcript.Body{
				Call: &transcript.Call{ID: "c", Name: "lab.read"}, Status: "success", Text: "all is well",
			}}},
		})
		if err != nil {
			c.t.Fatal(err)
		}
	}
	in := activities.FinishIn{
		Investigation: id, Plan: out.Plan, Status: agent.StatusCompleted, EndReason: agent.EndCompleted,
		Results: []activities.Source{result}, Envelope: record.Envelope{Schedule: out.Schedule, Before: out.Before},
	}
	if text != "" {
		in.Summary = c.handsOn(plan.SummaryName+"/Sum", text).Execution
	}
	if change != nil {
		change(&in)
	}
	if _, err := c.env.ExecuteActivity(c.act.Finish, in); err != nil {
		c.t.Fatal(err)
	}
	r, err := c.store.Investigation(c.t.Context(), id)
	if err != nil || r.Session != "schedule/nightly" || r.Fingerprint != "" || r.Envelope.Schedule.Name != "nightly" {
		c.t.Fatalf("%+v, %v", r, err)
	}
	return r.Envelope.Check, r.Envelope.Summary
}

func said(verdict string, names ...string) string {
	var problems []string
	for _, name := range names {
		problems = append(problems, fmt.Sprintf(`{"name":%q,"detail":"20 of 20"}`, name))
	}
	const text = "Here it is:\n```json\n{\"verdict\":%q,\"problems\":[%s],\"summary\":\"In short.\"}\n```"
	return fmt.Sprintf(text, verdict, strings.Join(problems, ","))
}

// TestChecks makes checks one after the other. Each is compared with the one before that has a verdict.
func TestChecks(t *testing.T) {
	t.Parallel()
	c := &checked{bench: newBench(t)}
	c.act.Validator = tool.NewValidator()
	for n, tt := range []struct {
		said    string
		looked  bool
		change  func(*activities.FinishIn)
		summary string // empty means that there is no verdict
	}{
		{said("ok"), true, nil, "Verdict: ok (first check).\nIn short."},
		{said("ok"), true, nil, "Verdict: ok (unchanged).\nIn short."},
		{said("problem", "pool  exhausted", "dns"), true, nil, "Verdict: problem (was ok).\nNew: dns; pool exhausted\nIn short."},
		{said("problem", "Pool exhausted"), true, nil, "Verdict: problem.\nGone: dns\nIn short."},
		{"", true, func(in *activities.FinishIn) { in.Status = agent.StatusCancelled }, ""},
		{said("ok", "disk full"), true, nil, "Verdict: problem.\nNew: disk full\nGone: Pool exhausted\nIn short."}, // it contradicts itself
		{said("ok"), false, nil, "Verdict: unknown (was problem).\nReason: no call of a tool has succeeded\nIn short."},
		{"All is well.", true, nil,
			"Verdict: unknown (unchanged).\nReason: the agent's verdict cannot be read: no valid JSON object found in response"},
		{said("ok"), true, func(in *activities.FinishIn) { in.EndReason = agent.EndBudget },
			"Verdict: unknown (unchanged).\nReason: the investigation has not examined everything: budget_exceeded\nIn short."},
		{said("ok"), true, func(in *activities.FinishIn) { in.Envelope.NotChecked = []record.NotChecked{{Server: "loki"}} },
			"Verdict: unknown (unchanged).\nReason: nothing that loki shows was examined, because its tools were missing\nIn short."},
		{said("problem", "disk full"), true, func(in *activities.FinishIn) { in.Envelope.NotChecked = []record.NotChecked{{Server: "loki"}} },
			"Verdict: problem (was unknown).\nNew: disk full\nIn short."},
		{"", true, func(in *activities.FinishIn) {
			in.Status, in.EndReason, in.Error = agent.StatusFailed, agent.EndLLMFailed, "quota exhausted"
		}, "Verdict: unknown (was problem).\nReason: quota exhausted"},
		{said("ok"), true, nil, "Verdict: ok (was unknown).\nIn short."},
		{said("ok"), true, func(in *activities.FinishIn) { in.EndReason = agent.EndDenied },
			"Verdict: unknown (was ok).\nReason: the investigation has not examined everything: denied\nIn short."},
		{said("ok"), true, func(in *activities.FinishIn) { in.Concluded = true },
			"Verdict: unknown (unchanged).\nReason: a person has ended the investigation early\nIn short."},
		{said("ok"), false, func(in *activities.FinishIn) { in.Results = nil },
			"Verdict: unknown (unchanged).\nReason: the investigation has no report\nIn short."},
	} {
		found, summary := c.check(tt.said, tt.looked, tt.change)
		if diff := cmp.Diff(tt.summary, summary); diff != "" || (found == nil) != (tt.summary == "") {
			t.Errorf("check %d: %+v (-want +got):\n%s", n+1, found, diff)
		}
		if found != nil && found.Changed == strings.Contains(summary, "(unchanged)") {
			t.Errorf("check %d: changed %v, and it says %q", n+1, found.Changed, summary)
		}
	}
}

// TestScheduleCost: what a schedule's investigations have cost in a day limits the next one. When nothing is left, it is refused, and
// that is the verdict of a check.
func TestScheduleCost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	spend := func(id string, age time.Duration, cost float64) {
		r := record.Investigation{ID: id, WorkflowID: id, Status: agent.StatusRunning, StartedAt: time.Now().Add(-age), Writer: "run",
			Labels: agent.Labels{Session: "schedule/nightly"}}
		if err := b.store.StartInvestigation(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		_, err := b.store.Append(t.Context(), transcript.Step{
			Scope: transcript.Scope{Investigation: id, Execution: "s/A"}, Writer: transcript.Writer{RunID: "r", ActivityID: "1"},
			Rows: []transcript.Row{{Key: transcript.Key{Iteration: 1}, Kind: transcript.KindReply, Body: transcript.Body{
				Answer: transcript.Answer{Usage: &agent.Usage{CostUSD: cost}},
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	next := func(id string) (p plan.Plan, err error) {
		b.act.Planner = scheduled{}
		b.act.Requests = inbox(`{"chain":"lab","data":"x","schedule":{"name":"nightly","every":"1h","check":true,"max_cost_usd_per_day":2}}`)
		var out activities.ResolveOut
		value, err := b.env.ExecuteActivity(b.act.Resolve, activities.ResolveIn{Investigation: id, RunID: "run"})
		if err != nil {
			return p, err
		}
		if err := value.Get(&out); err != nil {
			return p, err
		}
		body, err := b.store.Blob(t.Context(), out.Plan)
		return p, errors.Join(err, json.Unmarshal(body, &p))
	}
	spend("long ago", 25*time.Hour, 10)
	spend("today", time.Hour, 1.5)
	if p, err := next("w1:1"); err != nil || p.Bounds.MaxCost != 0.5 {
		t.Errorf("the rest: %v, %v", p.Bounds.MaxCost, err)
	}
	spend("just now", time.Minute, 0.5)
	const refused = "the schedule nightly has reached its limit: its investigations have cost $2 in 24 hours"
	for n, changed := range []bool{true, false} {
		id := fmt.Sprintf("w%d:1", n+2)
		if _, err := next(id); err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("not refused: %v", err)
		}
		r, err := b.store.Investigation(t.Context(), id)
		if err != nil || r.Status != agent.StatusRefused || r.Envelope.Check == nil || r.Envelope.Check.Changed != changed {
			t.Errorf("recorded %+v, %v", r.Envelope.Check, err)
		}
	}
}

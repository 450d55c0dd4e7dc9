package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// planning is the earlier stage that plans the calls of agents without a model. A mock replaces its agent.
var planning = plan.Stage{
	Name: "before", OutputKey: "plan", SuccessPolicy: plan.SuccessAny,
	Agents: []plan.Agent{{Name: "planner", Definition: "planner", Type: "llm", MaxIterations: 1, Mock: "planner"}},
}

// carriesOut reports whether the agent makes the calls of a plan.
func (w worker) carriesOut() bool { return w.row.Pattern.Tools() && !w.row.Pattern.Model() }

// planned returns the steps of the plan: r.steps, or the seed's choice, which may be empty.
func (r *run) planned() []agent.ToolCall {
	if r.steps != nil {
		return r.steps
	}
	var tools []llm.Tool
	for _, name := range []string{"lab__read", "lab__set", "lab__once", "lab.once", agent.ToolReadResult} {
		tools = append(tools, llm.Tool{Name: name})
	}
	var steps []agent.ToolCall
	for n := range pick(8, r.seed, "steps") {
		step := provider{run: r}.call(place{}, n, tools)
		if !json.Valid([]byte(step.Arguments)) {
			step.Arguments = `"no object"`
		}
		steps = append(steps, step)
	}
	return steps
}

// hand is the planner's mock.
func (r *run) hand(context.Context, hook.MockInput) (any, error) {
	type step struct {
		Tool       string          `json:"tool"`
		Parameters json.RawMessage `json:"parameters"`
	}
	p := map[string][]step{}
	for _, call := range r.planned() {
		p["steps"] = append(p["steps"], step{call.Name, json.RawMessage(call.Arguments)})
	}
	return p, nil
}

// checkUnasked checks that an agent without a model also ends with a final text.
func (c checker) checkUnasked() {
	final := transcript.Final(c.entries, false)
	err := c.env.GetWorkflowErrorByID(c.investigation() + "/" + c.execution)
	switch {
	case c.row.Pattern.Model():
	case final == "" && (err == nil || c.log() == ""):
		c.problem("%s says nothing: %v", c.execution, err)
	case final == "": // the agent failed
	case c.carriesOut():
		c.checkPlan(final)
	case final != "{}" || len(c.entries) != 1:
		c.problem("%s has %d entries, and says %s", c.execution, len(c.entries), final)
	}
}

// outcome is the result of a plan.
type outcome struct {
	Results []stepOutcome `json:"results"`
	TotalMS int64         `json:"total_time_ms"`
	All     bool          `json:"all_succeeded"`
}

type stepOutcome struct {
	ID        string `json:"step_id"`
	Tool      string `json:"tool"`
	Status    string `json:"status"`
	Result    string `json:"result"`
	Error     string `json:"error"`
	ErrorType string `json:"error_type"`
}

// checkPlan checks that every step of the plan has exactly one result, and that the text mentions all of them.
func (c checker) checkPlan(final string) {
	c.checkOrder()
	want, steps := outcome{All: true, Results: []stepOutcome{}}, c.planned()
	var planned transcript.Entry
	for _, e := range c.entries {
		if e.Kind == transcript.KindReply && e.Iteration == 1 {
			planned = e
		}
		if e.Kind != transcript.KindResult {
			continue
		}
		n := len(want.Results)
		if e.Key != transcript.ResultKey(1, n) || n >= len(steps) || tool.WireName(e.Call.Name) != tool.WireName(steps[n].Name) ||
			e.Call.Arguments != steps[n].Arguments {
			c.problem("%s: %d/%d is the result of %s %s, which is not step %d", c.execution, e.Iteration, e.Position, e.Call.Name,
				e.Call.Arguments, n)
		}
		step := stepOutcome{ID: fmt.Sprintf("step_%d", n), Tool: e.Call.Name, Status: e.Status, Result: e.Text}
		if e.Status != string(tool.StatusSuccess) {
			step.Result, step.Error, step.ErrorType, want.All = "", e.Text, e.ErrorType, false
		}
		want.Results = append(want.Results, step)
		want.TotalMS = max(want.TotalMS, e.At.Sub(planned.At).Milliseconds())
	}
	var got outcome
	if err := json.Unmarshal([]byte(final), &got); err != nil || len(want.Results) != len(steps) {
		c.problem("%s: %d results of %d steps: %v", c.execution, len(want.Results), len(steps), err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.problem("%s: what came of the plan (-results +text):\n%s", c.execution, diff)
	}
}

// checkOrder checks that no step started before the previous one had its result. The results of failed calls
// are written at the end.
func (c checker) checkOrder() {
	last := -1
	for _, e := range slices.SortedFunc(slices.Values(c.entries), bySeq) {
		n, lost := e.CallIndex(), slices.Contains([]string{activities.ErrorTimeout, activities.ErrorStore}, e.ErrorType)
		if n >= 0 && n < last && !lost {
			c.problem("%s: step %d goes on after step %d was begun", c.execution, n, last)
		}
		last = max(last, n)
	}
}

func bySeq(a, b transcript.Entry) int { return int(a.Seq - b.Seq) }

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

const gatedConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
defaults:
  llm_provider: lab-model
agents:
  Alpha: {description: digs, mcp_servers: [lab], tool_config: {tool_permissions: {lab.counter: {requires_approval: true}}}}
agent_chains:
  lab: {alert_types: [lab], stages: [{name: dig, agents: [{name: Alpha}]}]}
`

// The targets of a reset: the agent's first workflow task, before its call needed approval, or the latest one.
const (
	nowhere = iota
	beforeTheAsk
	latest
)

// TestLongResetOfApprovals resets an agent whose call waits, is approved, is edited or runs. Temporal reapplies
// the replaced run's decisions to the new one. No call runs that was not approved in exactly this form, none
// runs twice for one approval, and no approved call is lost.
func TestLongResetOfApprovals(t *testing.T) {
	takesLong(t)
	t.Parallel()
	gates := map[string]*tooltest.Gate{}
	cases := map[string]struct {
		open, decided int    // target of the reset while the call waits, and after the decision
		edited, held  bool   // a person changes the arguments; the call is running at the reset
		then          string // the decision when approval is requested again
	}{
		"open":                 {open: latest, then: "approve"},
		"open-from-the-start":  {open: beforeTheAsk, then: "approve"},
		"approved":             {decided: latest, then: "approve"},
		"approved-asked-again": {decided: beforeTheAsk, then: "deny"},
		"edited":               {decided: latest, edited: true, then: "approve"},
		"edited-asked-again":   {decided: beforeTheAsk, edited: true, then: "approve"},
		"edited-twice":         {open: beforeTheAsk, decided: latest, edited: true, then: "deny"},
		"running":              {decided: latest, held: true, then: "deny"},
		"running-asked-again":  {decided: beforeTheAsk, held: true, then: "deny"},
	}
	for name, tt := range cases {
		if tt.held {
			gates[name] = tooltest.NewGate(t)
		}
	}
	of := regexp.MustCompile(`case-([a-z-]+)`)
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		text, _ := json.Marshal(req.Messages)
		name := string(of.FindSubmatch(text)[1])
		if turnOf(req) > 1 {
			return llmtest.Text("done")
		}
		args := map[string]string{"file": "made-case-" + name + "."}
		if gate := gates[name]; gate != nil {
			args["gate"] = gate.Path
		}
		body, _ := json.Marshal(args)
		return llmtest.Calls(llmtest.Call{Name: "lab__counter", Args: string(body)})
	}, gatedConfig)
	w.dev()
	t.Run("cases", func(t *testing.T) {
		for name, tt := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				g := newGated(w.of(t), name, "lab")
				g.waits()
				g.reset(tt.open)
				d := workflows.Decide{Approved: new(true)}
				if tt.edited {
					d.Arguments = json.RawMessage(`{"file":"edited-case-` + name + `."}`)
				}
				eventually(t, name+" is decided", func() bool { return g.decide(g.waits(), d) }) // the status may predate the reset
				release := func() {}
				if tt.held {
					release = gates[name].Wait(t)
				}
				point := g.reset(tt.decided)
				if tt.held { // the new run goes on while the first call runs
					later := func(task int64) bool { return task > point }
					eventually(t, name+" goes on", func() bool { return slices.ContainsFunc(g.tasks(), later) })
				}
				release()
				g.finish(tt.then == "approve")
				g.check(tt.then == "approve")
			})
		}
	})
}

// gated is an investigation with one agent, whose only call needs approval.
type gated struct {
	*world
	name, id string
	approved map[string]int  // by the file in the approved arguments
	perhaps  map[string]int  // approvals without a confirmation
	refused  map[string]bool // by call ID: denied, or answered with a question
}

// newGated starts an investigation of a chain with one agent. Its data contain its name.
func newGated(w *world, name, chain string) gated {
	run := w.beginWith(name, agent.Request{Chain: chain, Data: json.RawMessage(`"case-` + name + `"`)})
	return gated{w, name, workflows.InvestigationID(name, run.GetRunID()), map[string]int{}, map[string]int{}, map[string]bool{}}
}

func (g gated) waits() workflows.Approval {
	g.t.Helper()
	return waiting(g.waitsFor(g.name, "lab.counter"), "lab.counter")
}

// decide sends a decision about a call and reports whether it was accepted: after a reset the call may no longer be waiting.
func (g *gated) decide(call workflows.Approval, d workflows.Decide) bool {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d.CallID, d.Digest, d.By = call.CallID, call.Digest, "Ada"
	handle, err := g.client().UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: call.WorkflowID, UpdateName: workflows.UpdateDecide, WaitForStage: client.WorkflowUpdateStageCompleted, Args: []any{d},
	})
	var out activities.Decision
	if err == nil {
		err = handle.Get(ctx, &out)
	}
	arguments := call.Arguments
	if len(d.Arguments) > 0 {
		arguments = string(d.Arguments)
	}
	var in struct{ File string }
	if err := json.Unmarshal([]byte(arguments), &in); err != nil {
		g.t.Fatal(err)
	}
	_, refused := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case err != nil && !refused:
		g.t.Logf("%s: nobody knows whether it was taken: %v", g.name, err)
		if d.Approved != nil && *d.Approved {
			g.perhaps[in.File]++
		}
	case err == nil && out.Approved:
		g.approved[in.File]++
	}
	if !refused && !out.Approved && (err == nil || d.Approved == nil || !*d.Approved) {
		g.refused[call.CallID] = true
	}
	return err == nil
}

// reset resets the agent to one of its workflow tasks and returns the task's event ID.
func (g *gated) reset(to int) (point int64) {
	g.t.Helper()
	if to == nowhere {
		return 0
	}
	points := g.tasks()
	point = points[0]
	if to == latest {
		point = points[len(points)-1]
	}
	g.resetTo(point, len(points))
	return point
}

// tasks returns the event IDs of the completed workflow tasks in the agent's last run.
func (g *gated) tasks() (points []int64) {
	g.t.Helper()
	for _, e := range g.history(g.agent()) {
		if e.GetWorkflowTaskCompletedEventAttributes() != nil {
			points = append(points, e.GetEventId())
		}
	}
	return points
}

// agent returns the agent's workflow ID.
func (g *gated) agent() string { return g.id + "/dig/Alpha" }

// resetTo resets the agent to one of its workflow tasks; n makes the request ID unique.
func (g *gated) resetTo(point int64, n int) {
	_, err := g.client().ResetWorkflowExecution(g.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", Reason: "test", RequestId: fmt.Sprint("reset-", g.name, n), WorkflowTaskFinishEventId: point,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: g.agent()},
	})
	g.t.Logf("%s: reset to event %d: %v", g.name, point, err) // the run may have ended
}

// finish decides all waiting calls until everything has ended.
func (g *gated) finish(approve bool) {
	g.t.Helper()
	eventually(g.t, g.name+" ends", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		var status workflows.Status
		value, err := g.client().QueryWorkflow(ctx, g.name, "", workflows.QueryStatus)
		if err != nil || value.Get(&status) != nil {
			return false
		}
		for _, call := range status.Waiting {
			g.decide(call, workflows.Decide{Approved: &approve})
		}
		return status.Status.Closed()
	})
	if result := g.end(g.name); result.Status != agent.StatusCompleted {
		g.t.Errorf("%s: %+v", g.name, result)
	}
}

// check compares the calls that were made with those that were approved.
func (g *gated) check(approve bool) (made int) {
	g.t.Helper()
	files, err := filepath.Glob(filepath.Join(g.data, "*-case-"+g.name+".*"))
	if err != nil {
		g.t.Fatal(err)
	}
	for _, path := range files {
		body, err := os.ReadFile(path)
		if err != nil {
			g.t.Fatal(err)
		}
		keys, file := strings.Fields(string(body)), filepath.Base(path)
		if made += len(keys); len(keys) > g.approved[file]+g.perhaps[file] {
			g.t.Errorf("%s was approved %d times, and made %d times", file, g.approved[file], len(keys))
		}
		seen := map[string]bool{}
		for _, key := range keys {
			if seen[key] {
				g.t.Errorf("%s: the call %s was made twice", file, key)
			}
			seen[key] = true
		}
	}
	for _, e := range g.callsOf(g.id, "lab.counter") {
		if e.Kind != transcript.KindResult || e.Superseded {
			continue
		}
		kept := e.Status == "success" || e.ErrorType == tool.ErrorOutcomeUnknown
		if !kept && !g.refused[e.Call.ID] && !strings.Contains(e.Text, "the approval timed out") {
			g.t.Errorf("%s was approved, and its result is %s: %s", e.Call.ID, e.ErrorType, e.Text)
		}
	}
	if approve && made == 0 {
		g.t.Error("it was approved, and never made")
	}
	return made
}

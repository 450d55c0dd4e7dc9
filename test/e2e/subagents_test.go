package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

const hierarchyConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
defaults:
  llm_provider: lab-model
agents:
  Digger: {description: digs, mcp_servers: [lab]}
  Deep: {description: has others dig, sub_agents: [Digger]}
  Lead: {sub_agents: [Digger, Deep], orchestrator: {max_depth: 2}}
agent_chains:
  lead: {alert_types: [lab], stages: [{name: look, agents: [{name: Lead}]}]}
`

// hierarchy is a model for Lead, which dispatches a Digger and Deep, which dispatches another Digger. The
// Diggers' model calls are held until each is released, or all at once if there is a hold.
type hierarchy struct {
	arrived, release chan struct{}
	hold             atomic.Pointer[llmtest.Hold]
}

func newHierarchy(t *testing.T) (*world, *hierarchy) {
	m := &hierarchy{arrived: make(chan struct{}, 100), release: make(chan struct{})}
	w := newWorld(t, m.reply, hierarchyConfig)
	t.Cleanup(func() { close(m.release) }) // before the server is closed
	return w, m
}

func (m *hierarchy) reply(req llmtest.Request) llmtest.Reply {
	dispatch := map[string][]string{"Lead": {"Digger", "Deep"}, "Deep": {"Digger"}}[who(req)]
	switch {
	case dispatch == nil && m.hold.Load() != nil:
		return llmtest.Text("dug").Hold(m.hold.Load(), 0)
	case dispatch == nil:
		m.arrived <- struct{}{}
		<-m.release
		if turnOf(req) > 2 || len(req.Tools) == 0 {
			return llmtest.Text("dug")
		}
		return llmtest.Calls(llmtest.Call{Name: "lab__add", Args: `{"a":2,"b":3}`})
	case turnOf(req) == 1:
		var calls []llmtest.Call
		for _, name := range dispatch {
			calls = append(calls, llmtest.Call{Name: "dispatch_agent", Args: `{"name":"` + name + `","task":"dig"}`})
		}
		return llmtest.Calls(calls...)
	}
	return llmtest.Text("I have nothing to add.")
}

// dig waits until both Diggers have called their model.
func (m *hierarchy) dig(t *testing.T) {
	t.Helper()
	for range 2 {
		select {
		case <-m.arrived:
		case <-time.After(patience):
			t.Fatal("a Digger has not asked its model")
		}
	}
}

// answer sends both Diggers their replies.
func (m *hierarchy) answer() {
	for range 2 {
		m.release <- struct{}{}
	}
}

// inHierarchy lists the four executions, parents before their children.
var inHierarchy = []string{"look/Lead", "look/Lead/Deep-2", "look/Lead/Deep-2/Digger-1", "look/Lead/Digger-1"}

// grown starts an investigation and waits until all of its agents are running: two of them wait for the others.
func (w *world) grown(m *hierarchy, name string) (id string) {
	w.t.Helper()
	id = workflows.InvestigationID(name, w.begin(name).GetRunID())
	if m.hold.Load() == nil {
		m.dig(w.t)
	}
	for _, leader := range inHierarchy[:2] {
		eventually(w.t, leader+" waits", func() bool { return w.agentStatus(id+"/"+leader).Doing == "waiting for sub-agents" })
	}
	return id
}

// ends returns the ended executions of an investigation.
func (w *world) ends(id string) map[string]record.Execution {
	w.t.Helper()
	executions, err := w.open().Executions(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]record.Execution{}
	for _, e := range executions {
		out[e.Name] = e
	}
	return out
}

// Signals to an investigation reach its agents, their sub-agents, and the sub-agents of those: waiting agents
// at once, and working agents with their next model call.
func TestSteeringReachesSubAgents(t *testing.T) {
	t.Parallel()
	w, m := newHierarchy(t)
	w.dev()
	id := w.grown(m, "lead")
	steered := func(execution string) bool {
		return slices.ContainsFunc(w.entries(id), func(e transcript.Entry) bool {
			return e.Execution == execution && e.Kind == transcript.KindUser && strings.Contains(e.Text, "look at the shop")
		})
	}
	w.must("guide", "lead", "look at the shop")
	for _, leader := range inHierarchy[:2] { // while the Diggers' calls are still running
		eventually(t, leader+" has read it", func() bool { return steered(leader) })
	}
	w.must("pause", "lead")
	for _, name := range inHierarchy {
		eventually(t, name+" is paused", func() bool { return w.agentStatus(id+"/"+name).Status == agent.StatusPaused })
	}
	m.answer()
	called := func(e transcript.Entry) bool {
		return e.Kind == transcript.KindResult && strings.Contains(e.Execution, "Digger")
	}
	eventually(t, "the Diggers have called their tool", func() bool {
		return len(slices.DeleteFunc(w.entries(id), func(e transcript.Entry) bool { return !called(e) })) == 2
	})
	asked := len(w.model.Requests())
	for _, name := range inHierarchy {
		eventually(t, name+" does nothing", func() bool {
			described, err := w.client().DescribeWorkflowExecution(t.Context(), id+"/"+name, "")
			return err == nil && described.GetPendingWorkflowTask() == nil && len(described.GetPendingActivities()) == 0
		})
	}
	if now := len(w.model.Requests()); now != asked {
		t.Errorf("%d model calls while all is paused", now-asked)
	}
	w.must("resume", "lead")
	m.dig(t)
	requests := w.model.Requests()
	for _, req := range requests[len(requests)-2:] {
		if !strings.Contains(req.Last().Text(), "look at the shop") {
			t.Errorf("%s asks its model again, and has not read what people said: %q", who(req), req.Last().Text())
		}
	}
	w.must("conclude", "lead")
	for _, name := range inHierarchy {
		eventually(t, name+" is told to conclude", func() bool {
			return slices.ContainsFunc(w.history(id+"/"+name), func(e *historypb.HistoryEvent) bool {
				return e.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == workflows.SignalConclude
			})
		})
	}
	m.answer()
	m.dig(t)
	m.answer()
	if result := w.end("lead"); result.Status != agent.StatusCompleted || result.Report != "I have nothing to add." {
		t.Errorf("result: %+v", result)
	}
	ends := w.ends(id)
	for _, name := range inHierarchy {
		if e := ends[name]; e.Status != agent.StatusCompleted || e.StopReason != agent.StopConcluded {
			t.Errorf("%s has ended as %s, %s", name, e.Status, e.StopReason)
		}
	}
	other := w.grown(m, "other")
	w.must("cancel", "other")
	eventually(t, "all are cancelled", func() bool {
		ends := w.ends(other)
		return !slices.ContainsFunc(inHierarchy, func(name string) bool { return ends[name].Status != agent.StatusCancelled })
	})
	if open := w.openWorkflows(); len(open) > 0 {
		t.Errorf("left running: %q", open)
	}
}

// A workflow above sub-agents is reset. Sub-agents that the old run left running and the new run does not know
// are cancelled at once and replaced; those that it knows continue. The investigation ends as if undisturbed.
func TestLongResetAboveSubAgents(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w, m := newHierarchy(t)
	w.dev()
	for n, above := range []string{"", "/look", "/look/Lead", "/look/Lead/Deep-2"} {
		for _, kept := range []bool{false, true} { // to a point before any child started, or after all did
			hold := llmtest.NewHold()
			m.hold.Store(hold)
			name := fmt.Sprintf("lead-%d-%t", n, kept)
			r := resetHierarchy{world: w, id: w.grown(m, name), above: above}
			if r.workflow = r.id + above; above == "" {
				r.workflow = name
			}
			before := r.runsBelow()
			r.reset(kept)
			if !kept {
				r.areCancelled(before)
			}
			hold.Release()
			if result := w.end(name); result.Status != agent.StatusCompleted || result.Report != "I have nothing to add." {
				t.Errorf("after a reset of %q: %+v", r.workflow, result)
			}
			ends := w.ends(r.id)
			for _, name := range inHierarchy {
				if e := ends[name]; e.Status != agent.StatusCompleted || len(ends) != len(inHierarchy) {
					t.Errorf("after a reset of %q, %s of %d is recorded as %s, %s", r.workflow, name, len(ends), e.Status, e.Error)
				}
			}
			if after := r.runsBelow(); maps.Equal(before, after) != kept {
				t.Errorf("after a reset of %q that keeps children (%t) they were %v, and are %v", r.workflow, kept, before, after)
			}
		}
	}
	if open := w.openWorkflows(); len(open) > 0 {
		t.Errorf("left running: %q", open)
	}
}

// resetHierarchy is an investigation in which one workflow above sub-agents is reset.
type resetHierarchy struct {
	*world
	id, above string // the investigation, and the suffix of the workflow's ID
	workflow  string // the workflow's ID
}

// runsBelow returns the newest runs of the agents' workflows below the reset one.
func (r resetHierarchy) runsBelow() map[string]string {
	r.t.Helper()
	runs := map[string]string{}
	for _, name := range inHierarchy {
		if !strings.HasPrefix("/"+name, r.above+"/") {
			continue
		}
		described, err := r.client().DescribeWorkflowExecution(r.t.Context(), r.id+"/"+name, "")
		if err != nil {
			r.t.Fatal(err)
		}
		runs[r.id+"/"+name] = described.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	}
	return runs
}

// reset resets to the end of the last workflow task, or of the first.
func (r resetHierarchy) reset(last bool) {
	r.t.Helper()
	var tasks []int64
	for _, e := range r.history(r.workflow) {
		if e.GetWorkflowTaskCompletedEventAttributes() != nil {
			tasks = append(tasks, e.GetEventId())
		}
	}
	to := tasks[0]
	if last {
		to = tasks[len(tasks)-1]
	}
	_, err := r.client().ResetWorkflowExecution(r.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", Reason: "test", RequestId: r.workflow, WorkflowTaskFinishEventId: to,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: r.workflow},
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// areCancelled waits until the runs whose model has not answered have ended.
func (r resetHierarchy) areCancelled(runs map[string]string) {
	r.t.Helper()
	for workflow, run := range runs {
		eventually(r.t, workflow+" of the run before has ended", func() bool {
			described, err := r.client().DescribeWorkflowExecution(r.t.Context(), workflow, run)
			return err == nil && described.GetWorkflowExecutionInfo().GetCloseTime() != nil
		})
	}
}

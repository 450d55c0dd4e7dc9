package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// TestLive checks a running investigation in all lists, also after a kill of all processes: its usage so far,
// agent by agent, and what it is waiting for.
func TestLive(t *testing.T) {
	t.Parallel()
	l := newScript()
	l.heldAt = "Beta 1"
	w := newWorld(t, l.script(), strings.Replace(approvalConfig, "api_key_env: E2E_KEY", "api_key_env: E2E_KEY, prices: {input: 1000}", 1))
	dev := w.dev()
	run := w.begin("lab")
	id := workflows.InvestigationID("lab", run.GetRunID())

	// Alpha has replied once; Beta is still at its first reply.
	w.until(id, func(e transcript.Entry) bool { return e.Execution == "dig/Alpha" && e.Kind == transcript.KindReply })
	l.hold.Wait(t)
	said := time.Now()
	alpha := w.listed("lab", "")
	if took := time.Since(said); took > 5*time.Second { // a busy machine starts programs slowly
		t.Errorf("the list is %s late", took)
	}
	if u := alpha.Usage; u.InputTokens == 0 || u.CostUSD == 0 || u.ModelCalls != 1 || u.ToolCalls != 2 || alpha.EndedAt != nil {
		t.Errorf("listed after the first reply: %+v", alpha)
	}
	w.showsAgents(alpha.Usage, agent.Usage{})

	l.hold.Release()
	w.waitsFor("lab", "lab.add", "lab.set")
	eventually(t, "the list says that people are waited for", func() bool {
		return w.listed("lab", "").Status == agent.StatusWaitingApproval
	})
	if waiting := w.listed("lab", "waiting_approval"); waiting.ID != id {
		t.Errorf("--status waiting_approval finds %+v", waiting)
	}
	w.visibleAs("waiting_approval", "lab")
	if out := w.must("list", "--status", "running"); strings.Contains(out, id) {
		t.Errorf("it waits, and is listed as running:\n%s", out)
	}
	dev.kill()
	w.dev()
	if waiting := w.listed("lab", "waiting_approval"); waiting.ID != id {
		t.Errorf("after the kill, --status waiting_approval finds %+v", waiting)
	}

	after := w.waitsFor("lab", "lab.add", "lab.set")
	w.denyAsOthersDo(waiting(after, "lab.add"))
	w.denyAsOthersDo(waiting(after, "lab.set"))
	after = w.waitsFor("lab", "lab.counter")
	before := w.listed("lab", "waiting_approval")
	w.denyAsOthersDo(after.Waiting[0])
	result := w.end("lab")
	ended := w.listed("lab", "completed")
	if ended.Usage != result.Usage || ended.Usage.ModelCalls <= before.Usage.ModelCalls {
		t.Errorf("before the end %+v, at the end %+v, in the result %+v", before.Usage, ended.Usage, result.Usage)
	}
	var sum agent.Usage
	for _, stage := range result.Stages {
		for _, a := range stage.Agents {
			sum = sum.Add(a.Usage)
		}
	}
	if sum.Tokens() != ended.Usage.Tokens() || sum.ToolCalls != ended.Usage.ToolCalls {
		t.Errorf("the agents' %+v are not the whole %+v", sum, ended.Usage)
	}
	w.visibleAs("completed", "lab")
	w.endsByForce(l)
}

// listed returns an investigation from the list with that status, or the zero value if it is not there.
func (w *world) listed(workflowID, status string) (found record.Investigation) {
	w.t.Helper()
	var all []record.Investigation
	w.decode(&all, "list", "--json", "--status", status)
	if n := slices.IndexFunc(all, func(r record.Investigation) bool { return r.WorkflowID == workflowID }); n >= 0 {
		found = all[n]
	}
	return found
}

// showsAgents checks the status of Alpha and Beta, which run in parallel.
func (w *world) showsAgents(alpha, beta agent.Usage) {
	w.t.Helper()
	var status workflows.Status
	w.decode(&status, "status", "lab", "--json")
	agents := status.Stages[0].Agents
	if agents[0].Usage != alpha || agents[1].Usage != beta || status.Usage != alpha.Add(beta) || agents[0].Iterations == 0 {
		w.t.Errorf("status: %+v, agents %+v; want Alpha with %+v, Beta with %+v", status.Usage, agents, alpha, beta)
	}
	text := w.must("status", "lab")
	if !strings.Contains(text, "tokens unknown") || !strings.Contains(text, "1 model call · 2 tool calls · $") {
		w.t.Errorf("status:\n%s", text)
	}
}

// visibleAs waits until Temporal's own list shows a workflow with that status.
func (w *world) visibleAs(status, workflowID string) {
	w.t.Helper()
	eventually(w.t, "Temporal lists "+workflowID+" as "+status, func() bool {
		page, err := w.client().ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: "InquestStatus = '" + status + "'",
		})
		if err != nil {
			w.t.Fatal(err)
		}
		return len(page.GetExecutions()) == 1 && page.GetExecutions()[0].GetExecution().GetWorkflowId() == workflowID
	})
}

// endsByForce terminates one investigation and has another one rejected: lists show both outcomes.
func (w *world) endsByForce(l *lab) {
	w.t.Helper()
	l.replace["Beta 1"] = llmtest.Text("x")
	w.begin("gone")
	w.waitsFor("gone", "lab.set")
	if err := w.client().TerminateWorkflow(context.Background(), "gone", "", "enough"); err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, "the list says terminated", func() bool { return w.listed("gone", "terminated").Status == agent.StatusTerminated })
	if found := w.listed("gone", "waiting_approval"); found.ID != "" {
		w.t.Errorf("terminated, and listed as %+v", found)
	}
	if out := w.must("show", "gone"); !strings.Contains(out, "· terminated") {
		w.t.Errorf("show:\n%s", out)
	}
	w.beginWith("typo", agent.Request{Chain: "lob", Data: []byte(`"x"`)})
	w.visibleAs("refused", "typo")
	if found := w.listed("typo", "refused"); !strings.Contains(found.Error, `unknown chain "lob"`) {
		w.t.Errorf("--status refused finds %+v", found)
	}
}

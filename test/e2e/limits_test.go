package e2e

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/workflows"
)

// TestBoundThatAsks: agents that have reached a limit wait for a person, even through a kill -9 of all
// processes, and continue once it is raised. The audit trail has all messages and is consistent.
func TestBoundThatAsks(t *testing.T) {
	t.Parallel()
	config := strings.Replace(labConfig, "    alert_types: [lab]\n",
		"    alert_types: [lab]\n    bounds: {max_llm_calls: 2}\n    budgets: {on_limit: ask, on_limit_timeout: 72h}\n", 1)
	w := newWorld(t, newScript().script(), config)
	dev := w.dev()
	run := w.begin("lab")
	id := workflows.InvestigationID("lab", run.GetRunID())
	inbox := func() string { return w.must("inbox", "lab") }
	eventually(t, "both agents wait for a person", func() bool {
		return strings.Contains(inbox(), "A limit was reached (max_llm_calls 2)") && len(w.model.Requests()) == 2 &&
			w.agentStatus(id+"/dig/Alpha").Status == agent.StatusWaitingAnswer && w.agentStatus(id+"/dig/Beta").Status == agent.StatusWaitingAnswer
	})
	noted := strings.TrimSpace(w.must("audit", "head"))
	dev.kill()
	w.dev()
	eventually(t, "they wait still", func() bool {
		return w.agentStatus(id+"/dig/Alpha").Status == agent.StatusWaitingAnswer &&
			w.agentStatus(id+"/dig/Beta").Status == agent.StatusWaitingAnswer
	})
	if n := len(w.model.Requests()); n != 2 {
		t.Errorf("%d model calls", n)
	}
	w.mustFail(1, `conclude or stop`, "answer", "1", "--text", "go on")
	w.must("extend", "1", "--llm-calls", "20", "--by", "Ada")
	if got := w.end("lab"); got.Status != agent.StatusCompleted || got.EndReason != agent.EndCompleted {
		t.Errorf("%+v", got)
	}
	trail := w.must("audit", "lab")
	for _, line := range []string{" started ", " asked ", " extended  Ada ", "llm_calls 20", " ended "} {
		if !strings.Contains(trail, line) {
			t.Errorf("%q is not in the audit trail:\n%s", line, trail)
		}
	}
	w.must("audit", "verify", "--head", noted)
}

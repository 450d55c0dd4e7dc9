package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/workflows"
)

// An agent with paused heartbeats sleeps through a kill of all processes, reports the pause in its status, and
// wakes once, at the announced time.
func TestLongKillWhileAsleep(t *testing.T) {
	takesLong(t)
	t.Parallel()
	awake := make(chan time.Time, 16) // when the model was told about the end of the pause
	w := newWorld(t, sleeper(awake), talkConfig)
	dev := w.dev()
	run := w.beginWith("lab", agent.Request{Chain: "watch", Data: []byte(`"x"`)})
	id := workflows.InvestigationID("lab", run.GetRunID()) + "/dig/Memo"
	until := w.sleepsUntil(id)
	dev.kill()
	w.dev()
	if still := w.sleepsUntil(id); !still.Equal(until) {
		t.Errorf("it sleeps until %s, and after the kill until %s", until, still)
	}
	if left := time.Until(until); left < 10*time.Second {
		t.Fatalf("the system came back too late to tell: %s are left of the pause", left)
	}
	select {
	case at := <-awake:
		if late := at.Sub(until); late < 0 || late > resumed {
			t.Errorf("it woke %s after the end of its pause", late)
		} else {
			t.Logf("it woke %s after the end of its pause", late.Round(time.Millisecond))
		}
	case <-time.After(time.Until(until) + patience):
		t.Fatalf("it still sleeps: %+v", w.agentStatus(id))
	}
	if result := w.end("lab"); result.Status != agent.StatusCompleted || result.Report != "awake" {
		t.Errorf("result after the kill: %+v", result)
	}
	if n := len(w.model.Requests()); n != 2 {
		t.Errorf("%d model calls, want one before the pause and one after it", n)
	}
}

// sleeper is a model that pauses for the shortest possible time and reports when it continues.
func sleeper(awake chan<- time.Time) llmtest.Script {
	return func(req llmtest.Request) llmtest.Reply {
		if !strings.Contains(req.Last().Text(), "heartbeat pause is over") {
			return llmtest.Calls(llmtest.Call{Name: agent.ToolPauseHeartbeats, Args: `{"minutes":1}`})
		}
		awake <- time.Now()
		return llmtest.Text("awake")
	}
}

// sleepsUntil waits until an agent sleeps, and returns the wake-up time in its status. The status must also
// list the other triggers.
func (w *world) sleepsUntil(id string) time.Time {
	w.t.Helper()
	var status workflows.AgentStatus
	eventually(w.t, "the agent sleeps", func() bool {
		status = w.agentStatus(id)
		return strings.Contains(status.Doing, "heartbeats paused")
	})
	want := "heartbeats paused until " + status.PausedUntil.UTC().Format(time.RFC3339) + "; wakes on resume-heartbeats, guide or conclude"
	if status.Doing != want || status.Status != agent.StatusAsleep {
		w.t.Errorf("the agent, %s, says %q, want %q", status.Status, status.Doing, want)
	}
	return status.PausedUntil
}

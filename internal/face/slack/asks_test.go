package slack_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/slack/workspacetest"
	"github.com/inquest-dev/inquest/internal/record"
)

// call returns a call that waits for a person.
func call(name, arguments string) record.Approval {
	return record.Approval{
		CallID: name, Execution: "look/A", Tool: "k8s.scale", Risk: agent.RiskHigh, Arguments: arguments, Digest: "digest-of-" + name + arguments,
		Expires: time.Now().Add(time.Hour), Reason: "the pods are overloaded <!here>",
	}
}

// submit submits the newest modal, and returns Slack's answer.
func (w *world) submit(user, view string, texts ...string) string {
	views := w.Views()
	return w.Submit(user, view, views[len(views)-1], texts...)
}

// did reports whether exactly one operation was carried out that contains all of some texts.
func (w *world) did(parts ...string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, all := range w.applied {
		for _, line := range all {
			missing := false
			for _, part := range parts {
				missing = missing || !strings.Contains(line, part)
			}
			if !missing {
				n++
			}
		}
	}
	return n == 1
}

// Buttons and modals decide on the exact call that is shown, and the message says what became of it.
func TestDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	thread := w.Say(channel, "", "U1", "<@"+workspacetest.Bot+"> look")
	id, _ := w.investigation(thread)
	long := call("c4", `{"text":"`+strings.Repeat("x", 20000)+`"}`)
	waits := record.Waits{
		Approvals: []record.Approval{call("c1", `{"replicas":3}`), call("c2", `{"replicas":4}`), call("c3", `{"replicas":5}`), long},
		Questions: []record.Question{
			{ID: "q1", Kind: "clarification", Stage: "look", Question: "Which cluster?"},
			{ID: "q2", Kind: "agent_review", Stage: "look", Question: "Is this right?", Data: json.RawMessage(`{"a":1}`), Review: true},
		},
	}
	w.pending = waits.Approvals
	w.becomes(id, agent.StatusRunning, "", waits)
	find := func(part string) workspacetest.Message {
		w.Until(part, func() bool { return len(w.ours(thread, part)) == 1 })
		return w.ours(thread, part)[0]
	}
	c1, c2, c3, c4, q1, q2 := find(`\"replicas\": 3`), find(`\"replicas\": 4`), find(`\"replicas\": 5`), find("20011 bytes"),
		find("Which cluster?"), find("Is this right?")
	if len(workspacetest.Buttons(c4)) > 0 {
		t.Error("a call that is not shown whole can be approved")
	}
	if text, _ := json.Marshal(c1.Blocks); strings.Contains(string(text), "<!here>") {
		t.Error("a model mentions the channel")
	}
	w.Press("U2", c1, "approve")
	w.Until("the refusal", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.refusals) == 1 })
	w.Press("U1", c1, "approve")
	w.Press("U1", c2, "deny")
	w.submit("U1", "V1", "too many")
	w.submit("U1", "V1", "too many") // Slack sends it again
	w.Press("U1", c3, "edit")
	if answer := w.submit("U1", "V2", "[1]"); !strings.Contains(answer, "not a JSON object") {
		t.Errorf("wrong arguments: %s", answer)
	}
	if answer := w.submit("U1", "V2", `{"password":"hunter2"}`); !strings.Contains(answer, "secret") {
		t.Errorf("secret arguments: %s", answer)
	}
	w.submit("U1", "V3", `{"replicas":2}`)
	w.Press("U1", q1, "answer")
	w.submit("U1", "V4", "the one in Paris")
	w.Press("U1", q2, "reject")
	w.submit("U1", "V5", "look again")
	w.Until("all decisions", func() bool {
		return w.did("ada decide", `"call_id":"look/A/c1","approved":true`, `"digest":"digest-of-c1{\"replicas\":3}"`) &&
			w.did("ada decide", `"call_id":"look/A/c2","approved":false`, `"reason":"too many"`) &&
			w.did("ada decide", `"call_id":"look/A/c3","approved":true,"arguments":{"replicas":2}`) &&
			w.did("ada answer", `"id":"q1","text":"the one in Paris"`) &&
			w.did("ada answer", `"id":"q2","text":"look again","approved":false`)
	})
	w.becomes(id, agent.StatusRunning, "", record.Waits{})
	w.Until("what became of the call", func() bool {
		for _, m := range w.ours(thread, "look/A/c1") {
			return len(workspacetest.Buttons(m)) == 0 && strings.Contains(m.Text, "approved by ada")
		}
		return false
	})
}

// A reply in the thread is guidance, and some words are commands.
func TestWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	thread := w.Say(channel, "", "U1", "<@"+workspacetest.Bot+"> look")
	id, _ := w.investigation(thread)
	w.Until("the thread", func() bool { return len(w.ours(thread, "running")) == 1 })
	w.Say(channel, thread, "U2", "look at the cache, too")
	for _, text := range []string{
		"the deploy of 14:02 first, not hunter2", "Pause", "resume", "<@" + workspacetest.Bot + "> extend 30m", "conclude",
	} {
		w.Say(channel, thread, "U1", text)
	}
	w.Until("all words", func() bool {
		return w.did("ada guide", id, "the deploy of 14:02 first, not ***") && w.did("ada pause", id) && w.did("ada resume", id) &&
			w.did("ada extend-budget", `"duration":"30m"`) && w.did("ada conclude")
	})
	w.Say(channel, thread, "U1", "cancel")
	w.Until("the end", func() bool { return w.did("ada cancel", id) })
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refusals) != 1 || w.refusals[0] != id+" U2@example.com guide" {
		t.Errorf("refused: %q", w.refusals)
	}
}

package workflows

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// talk is a conversation under test, with its messages, their times and the replies.
type talk struct {
	*testsuite.TestWorkflowEnvironment
	f       *fake
	replies []Reply
	refused []string
	failed  []string
}

func newTalk(t *testing.T, a plan.AgentSkeleton) *talk {
	t.Helper()
	a.Name, a.Models, a.MaxIterations = "Memo", []string{"m"}, 3
	if a.Pattern == "" {
		a.Pattern = agent.Iterating
	}
	f := &fake{speaker: a}
	return &talk{TestWorkflowEnvironment: newEnv(t, f), f: f}
}

func (c *talk) say(at time.Duration, text string) {
	c.RegisterDelayedCallback(func() {
		c.UpdateWorkflow(UpdateSend, text, &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { c.refused = append(c.refused, err.Error()) },
			OnComplete: func(v any, err error) {
				if err != nil {
					c.failed = append(c.failed, err.Error())
					return
				}
				c.replies = append(c.replies, v.(Reply))
			},
		}, Message{Text: text, Author: "Ada"})
	}, at)
}

// keepOpen runs the conversation until it is closed.
func (c *talk) keepOpen(t *testing.T, closing time.Duration) {
	t.Helper()
	c.RegisterDelayedCallback(func() { c.SignalWorkflow(SignalClose, nil) }, closing)
	c.ExecuteWorkflow(TypeConversation, json.RawMessage(`{"agent":"Memo"}`))
	if !c.IsWorkflowCompleted() {
		t.Fatal("the conversation does not end")
	}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{})
	c.f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Iteration == 1 {
			return ask("a"), nil
		}
		return say("x"), nil
	}
	c.say(time.Minute, "hello")
	c.say(48*time.Hour, "are you there?")
	c.say(49*time.Hour, "")
	c.say(50*time.Hour, strings.Repeat("é", maxMessage+1))
	c.say(51*time.Hour, strings.Repeat("é", maxMessage))
	c.keepOpen(t, 72*time.Hour)
	if err := c.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	type brief struct {
		turn, iterations int
		text             string
		why              agent.StopReason
	}
	var got []brief
	for _, r := range c.replies {
		got = append(got, brief{r.Turn, r.Iterations, r.Text, r.StopReason})
	}
	want := []brief{{1, 2, "reply 2", agent.StopEndTurn}, {2, 1, "reply 3", agent.StopEndTurn}, {3, 1, "reply 4", agent.StopEndTurn}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(brief{})); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
	if n := c.replies[1].Usage.ModelCalls; n != 1 {
		t.Errorf("%d model calls in the second turn", n)
	}
	if len(c.refused) != 2 || !strings.Contains(c.refused[0], "empty") || !strings.Contains(c.refused[1], "100001 characters") {
		t.Errorf("refused: %q", c.refused)
	}
	first, long := c.f.generated[0].Inputs[0], c.f.generated[3].Inputs[0]
	if first.Kind != activities.InputMessage || first.Text != "hello" || first.By != "Ada" {
		t.Errorf("the agent was told %+v", first)
	}
	if long.Text != "" || long.Update == "" {
		t.Errorf("a long message is in the activity's input: %d bytes", len(long.Text))
	}
}

// TestWaitsOfAConversation: the store lists each waiting call of a conversation until none waits. A
// conversation closed in the meantime ends after it has updated the store.
func TestWaitsOfAConversation(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{})
	c.f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		switch in.Iteration {
		case 1:
			return askApproval("a", "b"), nil
		case 3:
			return askApproval("a"), nil
		}
		return say("x"), nil
	}
	c.say(time.Minute, "hello")
	c.RegisterDelayedCallback(func() { decide(t, c.TestWorkflowEnvironment, Decide{CallID: "c1_1", Approved: new(true)}) }, 2*time.Minute)
	c.RegisterDelayedCallback(func() { decide(t, c.TestWorkflowEnvironment, Decide{CallID: "c1_0", Approved: new(false)}) }, 3*time.Minute)
	c.say(time.Hour, "again")
	c.keepOpen(t, time.Hour+time.Minute)
	var received []string
	at := c.f.untilNow()
	for n, w := range at.waits {
		calls := "none"
		for _, a := range w.Approvals {
			calls += " " + a.CallID
		}
		if received = append(received, calls); at.received[n] != "" || at.writes[n] != n+1 {
			t.Errorf("a conversation has the status %s, said as %d", at.received[n], at.writes[n])
		}
	}
	want := []string{"none c1_0 c1_1", "none c1_0", "none", "none c1_0", "none"}
	if diff := cmp.Diff(want, received); diff != "" {
		t.Errorf("what waits (-want +told):\n%s", diff)
	}
}

func TestOneTurnAtATime(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{})
	c.f.model = script(askApproval("a"), say("x")) // the first turn waits an hour for a person
	c.say(time.Minute, "first")
	c.say(2*time.Minute, "second")
	c.say(3*time.Hour, "third")
	c.keepOpen(t, 4*time.Hour)
	if len(c.refused) != 1 || !strings.Contains(c.refused[0], "the agent is answering Ada") || len(c.replies) != 2 {
		t.Errorf("refused %q, replies %+v", c.refused, c.replies)
	}
}

func TestATurnThatFailsIsNotTheLast(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{})
	c.f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Iteration == 1 {
			return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("no key", "CredentialsRefused", nil)
		}
		return say("x"), nil
	}
	c.say(time.Minute, "first")
	c.say(time.Hour, "second")
	c.keepOpen(t, 2*time.Hour)
	if len(c.failed) != 1 || !strings.Contains(c.failed[0], "no key") || len(c.replies) != 1 {
		t.Errorf("failed %q, replies %+v", c.failed, c.replies)
	}
	var received []string
	for _, in := range c.f.generated[1].Inputs {
		received = append(received, in.Text+" of "+in.Update)
	}
	if diff := cmp.Diff([]string{" of first", "second of second"}, received); diff != "" { // the first one is read in the history
		t.Errorf("what the agent was told in the end (-want +got):\n%s", diff)
	}
}

func TestAConversationThatCannotOpen(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{})
	c.f.cannotOpen = temporal.NewNonRetryableApplicationError(`unknown agent "Memo"`, activities.ErrorInvalidRequest, nil)
	c.say(0, "hello")
	c.ExecuteWorkflow(TypeConversation, json.RawMessage(`{"agent":"Memo"}`))
	var failed *temporal.ApplicationError
	if err := c.GetWorkflowError(); !errors.As(err, &failed) || failed.Type() != activities.ErrorInvalidRequest {
		t.Errorf("ended with %v", err)
	}
}

func TestHeartbeatsInAConversation(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{Heartbeats: true, HeartbeatInterval: plan.Duration(time.Hour)})
	c.f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Iteration == 2 {
			out := ask("pause_heartbeats")
			out.Calls[0].Own = true
			return out, nil
		}
		return say("x"), nil
	}
	c.f.ownTools = func(activities.CallOwnToolsIn) (activities.CallOwnToolsOut, error) {
		return activities.CallOwnToolsOut{Pause: 60}, nil
	}
	began := c.Now()
	var at []time.Duration
	model := c.f.model
	c.f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		at = append(at, c.Now().Sub(began).Round(time.Minute))
		return model(in)
	}
	c.say(0, "hello")                      // iteration 1
	c.say(90*time.Minute, "and now?")      // 2 was the heartbeat after an hour, which paused until 2:00; 3
	c.keepOpen(t, 4*time.Hour+time.Minute) // 4 and 5: an hour after the last turn, each
	want := []time.Duration{0, time.Hour, 90 * time.Minute, 150 * time.Minute, 210 * time.Minute}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Errorf("model calls at (-want +got):\n%s", diff)
	}
	if c.f.inputs() != "message,heartbeat,message,heartbeat,heartbeat" {
		t.Errorf("inputs %s", c.f.inputs())
	}
}

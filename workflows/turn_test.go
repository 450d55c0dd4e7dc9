package workflows

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// hourly is an agent that is called after an hour without messages.
var hourly = plan.AgentSkeleton{Heartbeats: true, HeartbeatInterval: plan.Duration(time.Hour)}

// at records the times of model calls, in minutes after the beginning.
func (c *talk) at() *[]int {
	var minutes []int
	began, model := c.Now(), c.f.model
	c.f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		minutes = append(minutes, int(c.Now().Sub(began).Round(time.Minute)/time.Minute))
		return model(in)
	}
	return &minutes
}

// TestHeartbeatsAfterAPause: an agent that has paused is called again when its pause is over or is ended by a
// person, without any message.
func TestHeartbeatsAfterAPause(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		resumed time.Duration // 0 = never
		want    []int
	}{
		"is over":           {want: []int{60, 120, 180}},                             // an hour after the first, which is when the pause ends
		"is ended":          {resumed: 70 * time.Minute, want: []int{60, 120, 180}},  // nothing was due
		"is ended when due": {resumed: 125 * time.Minute, want: []int{60, 125, 185}}, // the pause was longer
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTalk(t, hourly)
			pause := ask(agent.ToolPauseHeartbeats)
			pause.Calls[0].Own = true
			c.f.model = script(pause, say("x"))
			c.f.ownTools = func(activities.CallOwnToolsIn) (activities.CallOwnToolsOut, error) {
				return activities.CallOwnToolsOut{Pause: 60}, nil
			}
			if name == "is ended when due" {
				c.signalAt(90*time.Minute, SignalPauseHeartbeats, json.RawMessage(`{"minutes":60}`)) // until 150
			}
			if tt.resumed > 0 {
				c.signalAt(tt.resumed, SignalResumeHeartbeats, nil)
			}
			timers := 0
			c.SetOnTimerScheduledListener(func(string, time.Duration) { timers++ })
			minutes := c.at()
			c.keepOpen(t, 190*time.Minute)
			if diff := cmp.Diff(tt.want, *minutes); diff != "" {
				t.Errorf("model calls at minute (-want +got):\n%s", diff)
			}
			if timers > 12 { // those of the test's own included
				t.Errorf("%d timers", timers)
			}
		})
	}
}

func (c *talk) signalAt(at time.Duration, name string, payload any) {
	c.RegisterDelayedCallback(func() { c.SignalWorkflow(name, payload) }, at)
}

// TestNoHeartbeatsInATurn: while a turn waits for a person, there are no heartbeats and no timers for them.
func TestNoHeartbeatsInATurn(t *testing.T) {
	t.Parallel()
	c := newTalk(t, hourly)
	c.f.speaker.ApprovalTimeout = plan.Duration(5 * time.Hour)
	c.f.model = script(askApproval("a"), say("x"))
	timers := 0
	c.SetOnTimerScheduledListener(func(string, time.Duration) { timers++ })
	minutes := c.at()
	c.say(10*time.Minute, "hello")
	c.keepOpen(t, 350*time.Minute)
	if diff := cmp.Diff([]int{10, 310}, *minutes); diff != "" || timers > 8 {
		t.Errorf("%d timers; model calls at minute (-want +got):\n%s", timers, diff)
	}
}

// TestConversationContinuesAsNew: the next run has only the carried-over state. It answers a repeated request
// without another turn, and a pause continues.
func TestConversationContinuesAsNew(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{})
	c.say(time.Minute, "first")
	c.signalAt(time.Hour, SignalPause, nil)
	c.signalAt(time.Hour, SignalGuide, Guide{Text: "be brief"})
	c.RegisterDelayedCallback(func() { c.SetContinueAsNewSuggested(true) }, 2*time.Hour)
	c.signalAt(2*time.Hour, SignalResumeHeartbeats, nil) // any event
	c.ExecuteWorkflow(TypeConversation, json.RawMessage(`{"agent":"Memo"}`))
	var renewed *workflow.ContinueAsNewError
	if err := c.GetWorkflowError(); !errors.As(err, &renewed) {
		t.Fatalf("ended with %v", err)
	}
	if len(c.f.posted) != 1 || c.f.posted[0].Source != "chat/Memo" || string(c.f.posted[0].Text) != "be brief" {
		t.Errorf("posted %+v", c.f.posted)
	}
	var raw json.RawMessage
	if err := converter.GetDefaultDataConverter().FromPayload(renewed.Input.GetPayloads()[0], &raw); err != nil {
		t.Fatal(err)
	}

	next := newTalk(t, plan.AgentSkeleton{})
	next.f.speaker = plan.AgentSkeleton{Name: "another"} // nobody looks at the configuration again
	next.SetContinuedExecutionRunID("first")
	next.say(time.Minute, "first")
	next.say(2*time.Minute, "second")
	next.signalAt(time.Hour, SignalResume, nil)
	next.RegisterDelayedCallback(func() { next.SignalWorkflow(SignalClose, nil) }, 2*time.Hour)
	next.ExecuteWorkflow(TypeConversation, raw)
	if err := next.GetWorkflowError(); err != nil || len(next.refused) > 0 || len(next.replies) != 2 {
		t.Fatalf("%v, refused %q, replies %+v", err, next.refused, next.replies)
	}
	if diff := cmp.Diff(c.replies[0], next.replies[0]); diff != "" {
		t.Errorf("asked again (-first +second):\n%s", diff)
	}
	if got := next.f.inputs(); got != "message" || next.f.generated[0].Iteration != 2 ||
		!cmp.Equal(next.f.generated[0].Ref, c.f.generated[0].Ref) {
		t.Errorf("inputs %s of %+v", got, next.f.generated[0])
	}
}

// TestClosedWhenItWouldContinue: a conversation closed at the moment of continuing as new stays closed.
func TestClosedWhenItWouldContinue(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{})
	c.f.model = script(askApproval("a"), say("x")) // the turn takes an hour
	c.say(time.Minute, "hello")
	c.RegisterDelayedCallback(func() { c.SetContinueAsNewSuggested(true) }, 10*time.Minute)
	c.say(20*time.Minute, "too early")
	c.keepOpen(t, 30*time.Minute)
	if err := c.GetWorkflowError(); err != nil || len(c.replies) != 1 {
		t.Errorf("ended with %v, replies %+v", err, c.replies)
	}
}

// TestCancelledInATurn: a message is answered even if the conversation is cancelled.
func TestCancelledInATurn(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{})
	c.f.model = script(askApproval("a"), say("x"))
	c.say(time.Minute, "hello")
	c.RegisterDelayedCallback(c.CancelWorkflow, 2*time.Minute)
	c.ExecuteWorkflow(TypeConversation, json.RawMessage(`{"agent":"Memo"}`))
	if err := c.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("ended with %v", err)
	}
	if len(c.failed) != 1 || !strings.Contains(c.failed[0], "cancelled") {
		t.Errorf("failed %q, replies %+v", c.failed, c.replies)
	}
}

func TestLeftBehind(t *testing.T) {
	t.Parallel()
	all := []activities.Input{
		{Kind: activities.InputMessage, Text: "a", Update: "u", Run: "r"},
		{Kind: activities.InputResult, Text: "c"},
		{Kind: activities.InputConclude}, {Kind: activities.InputNudge}, {Kind: activities.InputHeartbeat},
		{Kind: activities.InputNotice}, {Kind: activities.InputLimit},
	}
	byReference := activities.Input{Kind: activities.InputMessage, Update: "u", Run: "r"}
	for errorType, want := range map[string][]activities.Input{
		"QuotaExhausted":  {byReference, all[1]},
		"ContentFiltered": {all[1]}, // it would be refused for ever
	} {
		if diff := cmp.Diff(want, leftBehind(all, errorType)); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", errorType, diff)
		}
	}
	var many []activities.Input
	for range 3 * maxUnread {
		many = append(many, all[0])
	}
	if n := len(leftBehind(many, "")); n != maxUnread {
		t.Errorf("%d messages wait", n)
	}
}

// TestRepeatedMessages: a message that is repeated in a later run gets its own reply, or its own failure, and not that of the last
// turn. The model is not called for it.
func TestRepeatedMessages(t *testing.T) {
	t.Parallel()
	c := newTalk(t, plan.AgentSkeleton{})
	c.f.model = func(in activities.GenerateIn) (activities.GenerateOut, error) {
		if in.Iteration == 2 {
			return activities.GenerateOut{}, temporal.NewNonRetryableApplicationError("no key", "CredentialsRefused", nil)
		}
		return say("x"), nil
	}
	for n, text := range []string{"first", "refused", "third"} {
		c.say(time.Duration(n+1)*time.Minute, text)
	}
	c.RegisterDelayedCallback(func() { c.SetContinueAsNewSuggested(true) }, time.Hour)
	c.signalAt(time.Hour, SignalResumeHeartbeats, nil) // any event
	c.ExecuteWorkflow(TypeConversation, json.RawMessage(`{"agent":"Memo"}`))
	var renewed *workflow.ContinueAsNewError
	if err := c.GetWorkflowError(); !errors.As(err, &renewed) || len(c.f.turns) != 3 || c.f.ended != 0 {
		t.Fatalf("ended with %v after the turns %+v", err, c.f.turns)
	}
	if failed := c.f.turns[1]; failed.Message != "refused" ||
		failed.ErrorType != "CredentialsRefused" || failed.First != 2 || failed.Author != "Ada" {
		t.Errorf("the failed turn: %+v", failed)
	}
	var raw json.RawMessage
	if err := converter.GetDefaultDataConverter().FromPayload(renewed.Input.GetPayloads()[0], &raw); err != nil {
		t.Fatal(err)
	}
	next := newTalk(t, plan.AgentSkeleton{})
	next.f.turns = c.f.turns
	next.SetContinuedExecutionRunID("first")
	for n, text := range []string{"first", "refused", "third", "fourth"} {
		next.say(time.Duration(n+1)*time.Minute, text)
	}
	next.RegisterDelayedCallback(func() { next.SignalWorkflow(SignalClose, nil) }, time.Hour)
	next.ExecuteWorkflow(TypeConversation, raw)
	if err := next.GetWorkflowError(); err != nil || len(next.replies) != 3 || next.f.ended != 1 {
		t.Fatalf("%v, replies %+v, ended %d times", err, next.replies, next.f.ended)
	}
	if diff := cmp.Diff(c.replies, next.replies[:2]); diff != "" {
		t.Errorf("repeated messages (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(c.failed, next.failed); diff != "" || len(next.failed) != 1 {
		t.Errorf("the repeated message that failed (-first +second):\n%s", diff)
	}
	if n := len(next.f.generated); n != 1 || next.replies[2].Turn != 4 {
		t.Errorf("%d model calls, the last reply is %+v", n, next.replies[2])
	}
}

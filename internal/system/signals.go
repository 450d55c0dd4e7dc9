package system

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/workflows"
)

// Signal is a signal that people send to a running investigation. Its workflow, stages and agents all take it.
type Signal struct {
	Name    string // also of the operation of the API, its path and the command
	Role    string // that the operation requires
	Summary string // of the operation
	Body    any    // request of the operation: GuideBody, Target or SleepBody; nil means that it has none
	Tool    bool   // the MCP tool that steers can send it

	// Help is the command's line in the list of commands. Empty means that there is no command.
	Help, Long, Example string
}

// Signals are all signals that people send. Each is one row: the API, its client, the MCP tool and the commands range over them. What a
// signal does is in package workflows.
var Signals = []Signal{
	{
		Name: workflows.SignalGuide, Role: config.RoleOperator, Body: GuideBody{}, Tool: true,
		Summary: "Add guidance to the agents' next model call",
		Help:    "Add guidance to the agents' next model call",
		Long: `Add guidance to the agents' next model call. TEXT is text, @file, or - for standard
input. Without --agent and --stage, the guidance is for all agents that are running now,
or for the next agent if none is running.`,
		Example: `  starter guide lab "look at the deploy of 14:02 first"
  starter guide lab @notes.md --agent LogAgent`,
	},
	{
		Name: workflows.SignalPause, Role: config.RoleOperator,
		Summary: "Pause an investigation: no further model calls until it is resumed", Tool: true,
		Help: "Make no new model calls; running ones and their tool calls finish", Example: "  starter pause lab",
	},
	{
		Name: workflows.SignalResume, Role: config.RoleOperator, Summary: "Resume a paused investigation", Tool: true,
		Help: "Continue a paused investigation", Example: "  starter resume lab",
	},
	{
		Name: workflows.SignalConclude, Role: config.RoleOperator, Summary: "Ask the agents to finish now with the results so far",
		Body: Target{}, Tool: true,
		Help: "Ask agents to finish now with the results so far",
		Example: `  starter conclude lab
  starter conclude lab --agent LogAgent`,
	},
	{
		Name: workflows.SignalPauseHeartbeats, Role: config.RoleOperator, Summary: "Pause the heartbeats of long-lived agents", Body: SleepBody{},
	},
	{
		Name: workflows.SignalResumeHeartbeats, Role: config.RoleOperator, Summary: "Resume the heartbeats of long-lived agents", Body: Target{},
	},
}

// SignalNamed returns the signal with a name, and whether there is one.
func SignalNamed(name string) (Signal, bool) {
	n := slices.IndexFunc(Signals, func(s Signal) bool { return s.Name == name })
	if n < 0 {
		return Signal{}, false
	}
	return Signals[n], true
}

// HasText reports whether the signal carries a text.
func (s Signal) HasText() bool { _, ok := s.Body.(GuideBody); return ok }

// HasTarget reports whether the signal can be for one stage or one agent.
func (s Signal) HasTarget() bool { return s.Body != nil }

// Payload returns what the workflow receives. A signal without a text or a target ignores them.
func (s Signal) Payload(text string, to Target, by string) any {
	switch s.Body.(type) {
	case GuideBody:
		return GuideBody{text, to}.Payload(by)
	case Target:
		return to.Payload(by)
	case SleepBody:
		return SleepBody{Target: to}.Payload(by)
	}
	return workflows.By{By: by}
}

// SteerTool is the MCP tool that sends signals and cancels.
const SteerTool = "steer_investigation"

// Operation returns the signal's row in the table of operations.
func (s Signal) Operation() Operation {
	o := Operation{Name: s.Name, Role: s.Role, Method: post, Path: investigation + "/" + s.Name, Summary: s.Summary}
	if s.Tool {
		o.Tool = SteerTool
	}
	in, _ := s.Request("", s.Payload("", Target{}, "")) // the payload is the signal's own
	o.In, o.Out = reflect.TypeOf(in), reflect.TypeFor[Steered]()
	return o
}

// Request returns the request of the operation for a payload. The sender is not part of it: the API knows who sends.
func (s Signal) Request(id string, payload any) (any, error) {
	switch s.Body.(type) {
	case nil:
		return ByID{id}, nil
	case GuideBody:
		return request[GuideBody](s, id, payload)
	case SleepBody:
		return request[SleepBody](s, id, payload)
	case Target:
		return request[Target](s, id, payload)
	}
	return nil, fmt.Errorf("signal %s has a request of an unknown type", s.Name)
}

func request[T any](s Signal, id string, payload any) (any, error) {
	in := Steer[T]{ByID: ByID{id}}
	text, err := json.Marshal(payload)
	if err == nil {
		err = json.Unmarshal(text, &in.Body)
	}
	if err != nil {
		return nil, fmt.Errorf("signal %s: %w", s.Name, err)
	}
	return in, nil
}

// Payload returns the signal's payload.
func (b GuideBody) Payload(by string) any {
	return workflows.Guide{Text: b.Text, Stage: b.Stage, Agent: b.Agent, By: by}
}

// Payload returns the signal's payload.
func (t Target) Payload(by string) any {
	return workflows.Conclude{Stage: t.Stage, Agent: t.Agent, By: by}
}

// Payload returns the signal's payload.
func (b SleepBody) Payload(by string) any {
	return workflows.PauseHeartbeats{Minutes: b.Minutes, Stage: b.Stage, Agent: b.Agent, By: by}
}

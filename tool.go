package inquest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
)

// Tool is a function that agents may call. Its policy works as for any other tool: an agent's ToolConfig sets, by tool
// name, whether the agent may call it, how often, and whether a person must approve. NewTool makes a
// Tool from a function with typed arguments.
type Tool struct {
	// Name is at most 64 characters: A-Z a-z 0-9 _ -, without "__".
	Name string
	// Description tells the model what the tool does, and when to use it.
	Description string
	// Schema is the JSON schema of the arguments, an object. Arguments that do not match it never reach Run.
	Schema json.RawMessage
	// Risk says what effect a call can have. An empty string means RiskWrite.
	Risk Risk
	// Idempotent means that calls may be repeated although they write or destroy. Otherwise a call is never repeated after a
	// crash, and the model learns that its outcome is unknown.
	Idempotent bool
	// Run makes one call. It returns a map, a struct, or a Result. The model sees an error and can react to it. A panic
	// counts as an error, and the agent continues in either case. When ctx ends (the tool's timeout, a cancellation, a
	// worker that stops), the result is no longer used. Several calls may run at once.
	Run func(ctx context.Context, arguments json.RawMessage) (any, error)

	err error // from NewTool
}

// ToolOption changes a tool that NewTool makes.
type ToolOption func(*Tool)

// WithRisk sets the effect that a call can have.
func WithRisk(risk Risk) ToolOption { return func(t *Tool) { t.Risk = risk } }

// Idempotent declares that a call may be repeated.
func Idempotent() ToolOption { return func(t *Tool) { t.Idempotent = true } }

// NewTool makes a tool from a function. The schema is derived from A, a struct: a field is required unless its tag has
// omitempty or omitzero, and the jsonschema tag is its description. NewWorker reports problems with A.
func NewTool[A any](name, description string, run func(ctx context.Context, args A) (any, error), opts ...ToolOption) Tool {
	t := Tool{Name: name, Description: description}
	if t.Schema, t.err = schemaFor[A](); run != nil {
		t.Run = func(ctx context.Context, arguments json.RawMessage) (any, error) {
			var args A
			if err := json.Unmarshal(arguments, &args); err != nil {
				return nil, &ToolError{Type: tool.ErrorInvalidArguments, Message: err.Error(), Recoverable: true}
			}
			return run(ctx, args)
		}
	}
	for _, opt := range opts {
		opt(&t)
	}
	return t
}

func schemaFor[A any]() (json.RawMessage, error) {
	schema, err := jsonschema.For[A](nil)
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	return json.Marshal(schema)
}

// Call identifies a call of Run.
type Call struct {
	// Key is the same for every attempt at the call, and unique to the call. Pass it to services that recognise
	// repeated requests by an idempotency key. It is empty in calls not made by agents.
	Key string
	// Investigation and Execution are Inquest's ids.
	Investigation, Execution string
}

// CallOf returns the call that the ctx of a Run belongs to.
func CallOf(ctx context.Context) (Call, bool) {
	call, ok := builtin.CallOf(ctx)
	return Call{Key: call.Key, Investigation: call.Investigation, Execution: call.Execution}, ok
}

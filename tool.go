package inquest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
)

// Tool is a function that agents may call. It is under the same policy as every
// other tool: who may call it, how often, and whether a person has to approve it
// is the agents' ToolConfig, by the tool's name. NewTool makes one of a function
// with typed arguments.
type Tool struct {
	// Name has at most 64 of A-Z a-z 0-9 _ and -, and no "__".
	Name string
	// Description tells the model what the tool does, and when to use it.
	Description string
	// Schema is the JSON schema of the arguments, an object. Arguments that do not
	// satisfy it never reach Run.
	Schema json.RawMessage
	// Risk says what a call may do to the world; "" = RiskWrite.
	Risk Risk
	// Idempotent: a call that writes, or destroys, may be made twice. One that may not is never
	// made again after a crash, and the model is told that its outcome is unknown.
	Idempotent bool
	// Run makes one call. It returns a map, a struct, or a Result; an error is
	// shown to the model, so that it can do something about it. Whatever Run does,
	// the agent goes on: a panic is an error, too. When ctx ends (the tool's
	// timeout, a cancellation, a worker that stops) nobody waits for Run any more.
	// Several calls may run at once.
	Run func(ctx context.Context, arguments json.RawMessage) (any, error)

	err error // of NewTool
}

// ToolOption changes a tool that NewTool makes.
type ToolOption func(*Tool)

// WithRisk says what a call may do to the world.
func WithRisk(risk Risk) ToolOption { return func(t *Tool) { t.Risk = risk } }

// Idempotent says that a call may be made twice.
func Idempotent() ToolOption { return func(t *Tool) { t.Idempotent = true } }

// NewTool makes a tool of a function. The schema is that of A, a struct: a field
// is required unless its tag has omitempty or omitzero, and is described by the
// tag jsonschema. What is wrong with A is an error of NewWorker.
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

// Call says which call a Run is.
type Call struct {
	// Key is the same for every attempt at the call, and of no other call: give it
	// to whatever can tell a repeated request by its key. "" in a call by hand.
	Key string
	// Investigation and Execution are ids of Inquest's.
	Investigation, Execution string
}

// CallOf returns the call that the ctx of a Run belongs to.
func CallOf(ctx context.Context) (Call, bool) {
	call, ok := builtin.CallOf(ctx)
	return Call{Key: call.Key, Investigation: call.Investigation, Execution: call.Execution}, ok
}

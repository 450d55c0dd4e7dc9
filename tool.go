package inquest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
	"github.com/inquest-dev/inquest/internal/toolresult"
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
	// Idempotent: a call that writes may be made twice. One that may not is never
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
				return nil, &toolresult.Error{Type: tool.ErrorInvalidArguments, Message: err.Error(), Recoverable: true}
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

// tools are the options' tools for the worker, and all that is wrong with them.
func (o Options) tools() (all []builtin.Tool, wrong error) {
	named := map[string]bool{}
	for _, t := range o.Tools {
		problem := t.problem()
		if problem == nil && named[t.Name] {
			problem = errors.New("there are two tools of that name")
		}
		if problem != nil {
			wrong = errors.Join(wrong, fmt.Errorf("tool %q: %w", t.Name, problem))
		}
		named[t.Name] = true
		all = append(all, builtin.Func(builtin.FuncOptions{Spec: t.spec(), Run: t.Run, Logger: o.logger()}))
	}
	return all, wrong
}

func (t Tool) spec() tool.Spec {
	return tool.Spec{
		Name: t.Name, Description: t.Description, Schema: bytes.Clone(t.Schema),
		Risk: cmp.Or(t.Risk, RiskWrite), Idempotent: t.Idempotent,
	}
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// problem says what is wrong with a tool; nil = nothing is.
func (t Tool) problem() error {
	var problems []error
	if !toolName.MatchString(t.Name) || strings.Contains(t.Name, "__") { // that is how a server's name ends
		problems = append(problems, errors.New("a name has at most 64 of A-Z a-z 0-9 _ and -, and no __"))
	}
	if isOurs(t.Name) {
		problems = append(problems, errors.New("a built-in tool has that name"))
	}
	if t.Run == nil {
		problems = append(problems, errors.New("there is no function to run"))
	}
	risks := []Risk{"", RiskReadOnly, RiskWrite, RiskDestructive, RiskLow, RiskMedium, RiskHigh, RiskCritical, agent.RiskUnknown}
	if !slices.Contains(risks, t.Risk) {
		problems = append(problems, fmt.Errorf("there is no risk %q", t.Risk))
	}
	return errors.Join(append(problems, cmp.Or(t.err, checkSchema(t.Schema)))...)
}

func isOurs(name string) bool {
	return name == agent.ToolReadResult ||
		slices.ContainsFunc(agent.Types(), func(t agent.Type) bool { return slices.Contains(t.Tools, name) })
}

// checkSchema refuses a schema that nothing can be checked against.
func checkSchema(text json.RawMessage) error {
	if len(text) == 0 {
		return errors.New(`schema: there is none; {"type":"object"} is that of any arguments`)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if schema.Type != "object" {
		return errors.New("schema: the arguments of a tool are an object, a Go struct")
	}
	if _, err := schema.Resolve(nil); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

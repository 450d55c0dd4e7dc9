package agent

import "slices"

// Pattern is the control flow of an agent type; it picks the child workflow.
type Pattern string

// The control-flow patterns (spec: agents, "One table, no polymorphism").
const (
	Iterating  Pattern = "iterating"
	SingleShot Pattern = "single_shot"
)

// Names of the built-in tools that types bring with them.
const (
	ToolShell = "shell"
)

// Type is one row of the type table: what an agent of that type is able to do.
// Adding a type is adding a row; nothing dispatches on the name.
type Type struct {
	Name    string
	Aliases []string
	Pattern Pattern
	// Tools are the built-in tools that every agent of this type is offered.
	Tools []string
	// Prompt names the template of the system prompt (internal/prompt).
	Prompt string
	// MaxIterations is the type's own limit; 0 leaves it to the configuration's defaults.
	MaxIterations int
	// ThinkingFallback: an empty reply is replaced by the model's thinking.
	ThinkingFallback bool
}

// types is the table. Rows of later capabilities (memory, heartbeats, contracts)
// are added with what runs them: a type that is not here is refused.
var types = []Type{
	{Name: "default", Aliases: []string{""}, Pattern: Iterating, Prompt: "investigation"},
	{Name: "action", Pattern: Iterating, Prompt: "action"},
	{Name: "synthesis", Pattern: SingleShot, Prompt: "synthesis", MaxIterations: 1, ThinkingFallback: true},
	{Name: "exec_summary", Pattern: SingleShot, Prompt: "exec_summary", MaxIterations: 1},
	{Name: "react_agent", Aliases: []string{"react"}, Pattern: Iterating, Tools: []string{ToolShell}, Prompt: "react", MaxIterations: 10},
}

// later names the types of the specification that are not built yet.
var later = []string{"scoring", "memgpt_agent", "memgpt", "letta_v1_agent", "letta_v1", "llm", "tool_plan", "service", "orchestrator"}

// Types returns the rows of the table, in order.
func Types() []Type { return slices.Clone(types) }

// LookupType finds a type by its name or one of its aliases.
func LookupType(name string) (Type, bool) {
	for _, t := range types {
		if t.Name == name || slices.Contains(t.Aliases, name) {
			return t, true
		}
	}
	return Type{}, false
}

// PlannedType reports whether the name is a type of the specification that is not built yet.
func PlannedType(name string) bool { return slices.Contains(later, name) }

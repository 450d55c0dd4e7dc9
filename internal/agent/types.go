// Package agent defines the vocabulary that all other packages share: the type table, roles and messages, statuses,
// requests. It uses only the standard library and has no side effects.
package agent

import (
	"regexp"
	"slices"
)

// Pattern is the control flow of an agent type. It selects the child workflow.
type Pattern string

// The control-flow patterns (spec: agents, "One table, no polymorphism").
const (
	Iterating  Pattern = "iterating"
	SingleShot Pattern = "single_shot"
	ToolPlan   Pattern = "tool_plan" // runs the calls that an earlier stage has planned
	Service    Pattern = "service"   // does nothing itself; the hooks of its stage work
)

// Model reports whether agents of the pattern ask a model.
func (p Pattern) Model() bool { return p != ToolPlan && p != Service }

// Tools reports whether agents of the pattern call tools.
func (p Pattern) Tools() bool { return p != SingleShot && p != Service }

// Names of the built-in tools.
const (
	ToolShell      = "shell"
	ToolReadResult = "read_result" // reads text that was too large to be shown

	ToolSearchTools = "search_tools" // finds other tools: see tool.Set.Searching

	ToolLoadSkill     = "load_skill"
	ToolReadSkillFile = "read_skill_file"

	ToolRecallPast     = "recall_past_investigations"
	ToolSearchSessions = "search_past_sessions"

	ToolCoreMemoryAppend     = "core_memory_append"
	ToolCoreMemoryReplace    = "core_memory_replace"
	ToolArchivalMemoryInsert = "archival_memory_insert"
	ToolArchivalMemorySearch = "archival_memory_search"
	ToolConversationSearch   = "conversation_search"
	ToolPauseHeartbeats      = "pause_heartbeats"

	ToolDispatchAgent = "dispatch_agent"
	ToolCancelAgent   = "cancel_agent"
	ToolListAgents    = "list_agents"
)

// Type is one row of the type table, which defines the abilities of agents of a type. To add a type, add a row; no code
// depends on the name.
type Type struct {
	Name    string
	Aliases []string
	Pattern Pattern
	// Tools are the built-in tools that every agent of this type gets.
	Tools []string
	// Prompt names the template of the system prompt (internal/prompt). Empty means that no model is asked.
	Prompt string
	// MaxIterations is the type's own limit. Zero leaves it to the configuration's defaults.
	MaxIterations int
	// Heartbeats means that the agent continues by itself, and may pause that for a while.
	Heartbeats bool
	// JSON means that the agent's text is a JSON object (spec: pipeline).
	JSON bool
	// ThinkingFallback means that an empty reply is replaced by the model's thinking.
	ThinkingFallback bool
}

// types is the table. A type that is not in the table is refused, so add a row only together with the code that runs
// it.
var types = []Type{
	{Name: "default", Aliases: []string{"", TypeOrchestrator}, Pattern: Iterating, Prompt: "investigation"},
	{Name: "action", Pattern: Iterating, Prompt: "action"},
	{Name: "synthesis", Pattern: SingleShot, Prompt: "synthesis", MaxIterations: 1, ThinkingFallback: true},
	{Name: "scoring", Pattern: SingleShot, Prompt: "scoring", MaxIterations: 1},
	{Name: "reflector", Pattern: SingleShot, Prompt: "reflector", MaxIterations: 1, JSON: true},
	{Name: "llm", Pattern: SingleShot, Prompt: "llm", MaxIterations: 1, JSON: true},
	{Name: "tool_plan", Pattern: ToolPlan, MaxIterations: 1, JSON: true},
	{Name: "service", Pattern: Service, MaxIterations: 1, JSON: true},
	{Name: "exec_summary", Pattern: SingleShot, Prompt: "exec_summary", MaxIterations: 1},
	{
		Name: "memgpt_agent", Aliases: []string{"memgpt"}, Pattern: Iterating, Prompt: "memgpt", MaxIterations: 5, Heartbeats: true,
		Tools: []string{
			ToolShell, ToolCoreMemoryAppend, ToolCoreMemoryReplace, ToolArchivalMemoryInsert, ToolArchivalMemorySearch,
			ToolConversationSearch, ToolPauseHeartbeats,
		},
	},
	{
		Name: "letta_v1_agent", Aliases: []string{"letta_v1"}, Pattern: Iterating, Prompt: "letta", MaxIterations: 5,
		Tools: []string{ToolShell, ToolCoreMemoryAppend, ToolCoreMemoryReplace},
	},
	{Name: "react_agent", Aliases: []string{"react"}, Pattern: Iterating, Tools: []string{ToolShell}, Prompt: "react", MaxIterations: 10},
}

// TypeOrchestrator is the type default for an agent that must have sub-agents. Any other iterating agent may have them.
const TypeOrchestrator = "orchestrator"

// OrchestrationTools returns the tools of an agent that has sub-agents. Its workflow executes them itself.
func OrchestrationTools() []string {
	return []string{ToolDispatchAgent, ToolCancelAgent, ToolListAgents}
}

// SkillTools returns the tools of an agent that has skills.
func SkillTools() []string { return []string{ToolLoadSkill, ToolReadSkillFile} }

// RecallTools returns the tools of an agent that can look up earlier investigations.
func RecallTools() []string { return []string{ToolRecallPast, ToolSearchSessions} }

// Inward reports whether a tool only reads or changes what Inquest itself keeps, so that its results say nothing new about the
// systems that an agent investigates.
func Inward(name string) bool {
	return slices.Contains([]string{
		ToolReadResult, ToolSearchTools, ToolLoadSkill, ToolReadSkillFile, ToolRecallPast, ToolSearchSessions,
		ToolCoreMemoryAppend, ToolCoreMemoryReplace, ToolArchivalMemoryInsert, ToolArchivalMemorySearch, ToolConversationSearch,
		ToolPauseHeartbeats, ToolDispatchAgent, ToolCancelAgent, ToolListAgents,
	}, name)
}

// Types returns the rows of the table, in order.
func Types() []Type { return slices.Clone(types) }

// LookupType returns the type with a name or alias.
func LookupType(name string) (Type, bool) {
	for _, t := range types {
		if t.Name == name || slices.Contains(t.Aliases, name) {
			return t, true
		}
	}
	return Type{}, false
}

// Remembers reports whether the type has memory: blocks that the model sees before every call, and tools that change
// them.
func (t Type) Remembers() bool { return slices.Contains(t.Tools, ToolCoreMemoryAppend) }

// mixing matches the Gemini models that accept native tools and functions in one request, if the request asks for it.
// Others answer 400: Tool use with function calling is unsupported.
// https://ai.google.dev/gemini-api/docs/tool-combination
var mixing = regexp.MustCompile(`^(?:models/)?gemini-(?:[3-9]|\d\d|.*latest)`)

// MixesTools reports whether a model can combine native tools with functions. If not, the native tools are left out.
func MixesTools(model string) bool { return mixing.MatchString(model) }

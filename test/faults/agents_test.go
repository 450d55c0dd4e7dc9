package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// table is a copy of the specification's table of what each type of agent can do. The copy makes every change
// to the code's table visible.
var table = []agent.Type{
	{Name: "default", Aliases: []string{"", "orchestrator"}, Pattern: "iterating", Prompt: "investigation"},
	{Name: "action", Pattern: "iterating", Prompt: "action"},
	{Name: "synthesis", Pattern: "single_shot", Prompt: "synthesis", MaxIterations: 1, ThinkingFallback: true},
	{Name: "scoring", Pattern: "single_shot", Prompt: "scoring", MaxIterations: 1},
	{Name: "reflector", Pattern: "single_shot", Prompt: "reflector", MaxIterations: 1, JSON: true},
	{Name: "llm", Pattern: "single_shot", Prompt: "llm", MaxIterations: 1, JSON: true},
	{Name: "tool_plan", Pattern: "tool_plan", MaxIterations: 1, JSON: true},
	{Name: "service", Pattern: "service", MaxIterations: 1, JSON: true},
	{Name: "exec_summary", Pattern: "single_shot", Prompt: "exec_summary", MaxIterations: 1},
	{
		Name: "memgpt_agent", Aliases: []string{"memgpt"}, Pattern: "iterating", Prompt: "memgpt", MaxIterations: 5, Heartbeats: true,
		Tools: []string{
			"shell", "core_memory_append", "core_memory_replace", "archival_memory_insert", "archival_memory_search",
			"conversation_search", "pause_heartbeats",
		},
	},
	{
		Name: "letta_v1_agent", Aliases: []string{"letta_v1"}, Pattern: "iterating", Prompt: "letta", MaxIterations: 5,
		Tools: []string{"shell", "core_memory_append", "core_memory_replace"},
	},
	{Name: "react_agent", Aliases: []string{"react"}, Pattern: "iterating", Prompt: "react", MaxIterations: 10, Tools: []string{"shell"}},
}

// standardIterations is the limit of types without a separate limit.
const standardIterations = 20

// worker is an agent of a run.
type worker struct {
	row  agent.Type
	plan plan.Agent
}

// newWorker makes an agent of a type. Its definition's name is unique to this run, so its memory is not shared.
func newWorker(row agent.Type, name, owner string) worker {
	limit := row.MaxIterations
	if limit == 0 {
		limit = standardIterations
	}
	w := worker{row: row, plan: plan.Agent{
		Name: name, Definition: owner + "/" + name, Type: row.Name, LLMBackend: "langchain", MaxIterations: limit, OnLimit: plan.OnLimitConclude,
		Compression: plan.Compression{Enabled: true, Threshold: 0.8, KeepRecentMessages: 4, Strategy: "window"},
		Timeouts:    plan.Timeouts{Tool: plan.Duration(time.Minute), Agent: plan.Duration(100 * time.Hour)},
	}}
	if row.Pattern.Model() {
		w.plan.Providers = []plan.Provider{
			{Name: "first", Model: "gpt-4o", QuickUnder: plan.Duration(time.Second)}, {Name: "second", Model: "gpt-4o-mini"},
		}
	}
	if row.Pattern.Tools() {
		w.plan.Tools.QuickUnder = plan.Duration(time.Second)
		w.plan.Servers = []plan.Server{{Name: "lab"}}
	}
	if slices.Contains(row.Tools, "core_memory_append") {
		w.plan.MemoryBlocks = []agent.MemoryBlock{
			{Label: "persona", Value: "I am " + name, Limit: 500, ReadOnly: true}, {Label: "facts", Limit: 400, Description: "what holds"},
		}
	}
	return w
}

// shell enables the shell.
func (w *worker) shell() {
	w.plan.Shell = &plan.Shell{Allow: []string{"echo"}, Timeout: plan.Duration(time.Minute), MaxOutput: 1000, Risk: agent.RiskReadOnly}
}

// effective returns the tools that the specification offers to the agent: its type's tools, the shell only if
// it is enabled, and its servers' tools, minus those that the configuration removes.
func (w worker) effective() (names []string) {
	if !w.row.Pattern.Tools() {
		return nil
	}
	risks := map[string]string{
		"shell": "read_only", "core_memory_append": "write", "core_memory_replace": "write", "archival_memory_insert": "write",
		"archival_memory_search": "read_only", "conversation_search": "read_only", "pause_heartbeats": "read_only",
		"read_result": "read_only", "dispatch_agent": "read_only", "cancel_agent": "read_only", "list_agents": "read_only",
		"lab.read": "read_only", "lab.set": "write", "lab.once": "write",
	}
	all := slices.Clone(w.row.Tools)
	if w.plan.Shell == nil {
		all = slices.DeleteFunc(all, func(name string) bool { return name == "shell" })
	}
	if w.plan.Orchestrator != nil {
		all = append(all, "dispatch_agent", "cancel_agent", "list_agents")
	}
	if w.row.Pattern.Model() && (len(w.plan.Servers) > 0 || slices.Contains(all, "shell")) { // it may have received a part of a result
		all = append(all, "read_result")
	}
	if len(w.plan.Servers) > 0 {
		all = append(all, "lab.once", "lab.read", "lab.set")
	}
	config := w.plan.Tools
	for _, name := range all {
		switch {
		case slices.Contains(config.Disabled, name), config.Enabled != nil && !slices.Contains(config.Enabled, tool.WireName(name)):
		case config.Access == plan.AccessRead && risks[name] != "read_only", config.Access == plan.AccessNone:
		default:
			names = append(names, name)
		}
	}
	return names
}

// concluding reports whether the request asks for the conclusion, without tools.
func (w worker) concluding(req llm.Request) bool {
	for _, m := range req.Messages {
		if m.Role == agent.User && strings.Contains(m.Content, "Tools are no longer available.") {
			return true
		}
	}
	return false
}

// describe returns the worker in one line.
func (w worker) describe() string {
	return fmt.Sprintf("%s (%s, at most %d iterations, %d tools)", w.plan.Name, w.row.Name, w.plan.MaxIterations, len(w.effective()))
}

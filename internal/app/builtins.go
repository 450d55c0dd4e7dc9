package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
)

// Builtins is the registry of the tools that need no server.
type Builtins struct {
	Results builtin.Results
	Code    []builtin.Tool // tools in Go that the program adds
	Keeper  []string       // described in Settings
	// Recorded answers the calls of the shell and of Code in an evaluation; nil means that they are made.
	Recorded tool.Caller
}

// tools returns the built-in tools that exist for an agent. The policy decides which of them it gets.
func (b Builtins) tools(p plan.Agent) []builtin.Tool {
	tools := []builtin.Tool{builtin.ReadResult(b.Results), builtin.PauseHeartbeats()}
	if len(p.Skills) > 0 {
		tools = append(tools, builtin.Skills(p.Skills, b.Results.Blob)...)
	}
	if p.Shell != nil {
		tools = append(tools, builtin.Shell(*p.Shell, b.Keeper...))
	}
	return append(tools, b.Code...)
}

// Specs lists the built-in tools, the memory tools, whose calls the store journals, the tools for earlier investigations, which need
// the plan, the tool that finds tools, which needs the agent's permissions, and the tools for dispatching agents, which the workflow
// carries out.
func (b Builtins) Specs(p plan.Agent) []tool.Spec {
	var specs []tool.Spec
	for _, t := range b.tools(p) {
		specs = append(specs, t.Spec)
	}
	if p.ToolSearchAbove > 0 {
		specs = append(specs, builtin.SearchTools())
	}
	return slices.Concat(specs, memory.Specs(), learning.Specs(), builtin.Orchestration(p.Orchestrator))
}

// Call runs a built-in tool.
func (b Builtins) Call(ctx context.Context, p plan.Agent, call tool.Call) (tool.Result, error) {
	for _, t := range b.tools(p) {
		if t.Spec.Name != call.Name {
			continue
		}
		if b.Recorded != nil && b.reachesOut(call.Name) {
			return b.Recorded.Call(ctx, call)
		}
		result := t.Run(ctx, call)
		if ctx.Err() == context.Canceled {
			return result, ctx.Err()
		}
		return result, nil
	}
	return tool.Failure(tool.ErrorUnknownTool, fmt.Sprintf("Unknown tool %q.", call.Name)), nil
}

// reachesOut reports whether a tool may reach other systems: the shell, and the program's own tools.
func (b Builtins) reachesOut(name string) bool {
	return name == agent.ToolShell || slices.ContainsFunc(b.Code, func(t builtin.Tool) bool { return t.Spec.Name == name })
}

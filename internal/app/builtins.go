package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/memory"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
)

// builtins is the registry of the tools that need no server.
type builtins struct {
	results builtin.Results
	code    []builtin.Tool // tools in Go that the program adds
	keeper  []string       // see builtin.Shell
}

// tools returns the built-in tools that exist for an agent. The policy decides which of them it gets.
func (b builtins) tools(p plan.Agent) []builtin.Tool {
	tools := []builtin.Tool{builtin.ReadResult(b.results), builtin.PauseHeartbeats()}
	if p.Shell != nil {
		tools = append(tools, builtin.Shell(*p.Shell, b.keeper...))
	}
	return append(tools, b.code...)
}

// has reports whether a tool is one that the program adds.
func (b builtins) has(name string) bool {
	return slices.ContainsFunc(b.code, func(t builtin.Tool) bool { return t.Spec.Name == name })
}

// Specs lists the built-in tools, the memory tools, whose calls the store journals, and the tools for dispatching agents, which the
// workflow carries out.
func (b builtins) Specs(p plan.Agent) []tool.Spec {
	var specs []tool.Spec
	for _, t := range b.tools(p) {
		specs = append(specs, t.Spec)
	}
	return slices.Concat(specs, memory.Specs(), builtin.Orchestration(p.Orchestrator))
}

// Call runs a built-in tool.
func (b builtins) Call(ctx context.Context, p plan.Agent, call tool.Call) (tool.Result, error) {
	for _, t := range b.tools(p) {
		if t.Spec.Name != call.Name {
			continue
		}
		result := t.Run(ctx, call)
		if ctx.Err() == context.Canceled {
			return result, ctx.Err()
		}
		return result, nil
	}
	return tool.Failure(tool.ErrorUnknownTool, fmt.Sprintf("Unknown tool %q.", call.Name)), nil
}

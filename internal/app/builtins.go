package app

import (
	"context"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/builtin"
)

// builtins is the registry of the tools that need no server.
type builtins struct{}

// tools are the built-in tools that an agent's plan switches on.
func (builtins) tools(plan agent.AgentPlan) []builtin.Tool {
	if plan.Shell == nil {
		return nil
	}
	return []builtin.Tool{builtin.Shell(*plan.Shell)}
}

// Specs lists them.
func (b builtins) Specs(plan agent.AgentPlan) []tool.Spec {
	var specs []tool.Spec
	for _, t := range b.tools(plan) {
		specs = append(specs, t.Spec)
	}
	return specs
}

// Call runs one of them.
func (b builtins) Call(ctx context.Context, plan agent.AgentPlan, call tool.Call) (tool.Result, error) {
	for _, t := range b.tools(plan) {
		if t.Spec.Name != call.Name {
			continue
		}
		result := t.Run(ctx, call.Arguments)
		if ctx.Err() == context.Canceled {
			return result, ctx.Err()
		}
		return result, nil
	}
	return tool.Failure(tool.ErrorUnknownTool, fmt.Sprintf("Unknown tool %q.", call.Name)), nil
}

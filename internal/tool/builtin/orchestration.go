package builtin

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Orchestration returns the tools of an agent that dispatches others, or nil. They are offered, checked and recorded
// like all tools, but the agent's workflow executes them itself. To the policy they are read-only, because a
// sub-agent's actions fall under its own policy.
func Orchestration(o *plan.Orchestrator) []tool.Spec {
	if o == nil {
		return nil
	}
	names, lines := []string{}, []string{}
	for _, a := range o.Agents {
		names, lines = append(names, a.Name), append(lines, strings.TrimSuffix("- "+a.Name+": "+a.Description, ": "))
	}
	name := map[string]any{"type": "string", "enum": names, "description": "Which agent"}
	task := map[string]any{"type": "string", "minLength": 1,
		"description": "Everything that the agent needs to know; it cannot see this conversation"}
	execution := map[string]any{"type": "string", "minLength": 1, "description": "The execution ID that dispatch_agent returned"}
	return []tool.Spec{
		{
			Name: agent.ToolDispatchAgent,
			Description: fmt.Sprintf("Delegates a task to another agent and immediately returns its execution ID. You receive the result as a "+
				"message; do not poll for it. At most %d agents can run at the same time. If you have nothing else to do, reply without "+
				"tool calls; you run again when a result arrives. Available agents:\n%s", o.MaxConcurrent, strings.Join(lines, "\n")),
			Schema: schema(map[string]any{"name": name, "task": task}, "name", "task"),
			Risk:   agent.RiskReadOnly,
		},
		{
			Name:        agent.ToolCancelAgent,
			Description: "Stops an agent that you dispatched and no longer need.",
			Schema:      schema(map[string]any{"execution_id": execution}, "execution_id"),
			Risk:        agent.RiskReadOnly,
		},
		{
			Name:        agent.ToolListAgents,
			Description: "Lists the agents that you dispatched and their status.",
			Schema:      schema(map[string]any{}),
			Risk:        agent.RiskReadOnly,
		},
	}
}

func schema(properties map[string]any, required ...string) json.RawMessage {
	text, _ := json.Marshal(map[string]any{
		"type": "object", "properties": properties, "required": append([]string{}, required...), "additionalProperties": false,
	})
	return text
}

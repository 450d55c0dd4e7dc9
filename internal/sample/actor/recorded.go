package actor

import (
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/scripted"
)

// Recorded plays the agent of a pack's demo. It makes the demo's calls one after another, and reports only if each of them has
// returned the demo's answer.
func Recorded(demo pack.Demo) scripted.Reply {
	return func(req llm.Request) llm.Response {
		var results []string
		for _, m := range req.Messages {
			if m.Role == agent.ToolRole {
				results = append(results, m.Content)
			}
		}
		for n, result := range results {
			if n < len(demo.Calls) && !strings.Contains(result, strings.TrimSpace(demo.Calls[n].Result)) {
				return stop(fmt.Sprintf("%s did not return the demo's answer, so the demo ends here. It returned: %s", demo.Calls[n].Tool, result))
			}
		}
		if len(results) >= len(demo.Calls) {
			return stop(strings.TrimSpace(demo.Report) + "\n\n*A scripted model wrote this report. " + demo.Origin() + "*")
		}
		next := demo.Calls[len(results)]
		for _, t := range req.Tools {
			if t.Name == next.Tool || strings.HasSuffix(t.Name, "__"+next.Tool) {
				call := agent.ToolCall{ID: fmt.Sprintf("call_%d", len(results)), Name: t.Name, Arguments: next.Arguments}
				return llm.Response{Content: next.Why, ToolCalls: []agent.ToolCall{call}, Finish: llm.FinishToolCalls}
			}
		}
		return stop(fmt.Sprintf("The agent has no tool %s, so the demo ends here.", next.Tool))
	}
}

func stop(text string) llm.Response { return llm.Response{Content: text, Finish: llm.FinishStop} }

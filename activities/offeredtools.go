package activities

import (
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// tools are the tools that the model is told of. To conclude, it must not call them.
func (g *generation) tools(specs []tool.Spec) []llm.Tool {
	if g.row.Pattern == agent.SingleShot {
		return nil
	}
	var out []llm.Tool
	for _, s := range specs {
		out = append(out, llm.Tool{Name: tool.WireName(s.Name), Description: s.Description, Schema: s.Schema})
	}
	return out
}

// nativeTools are the tools that the provider runs itself.
func nativeTools(p plan.Provider) (out []llm.NativeTool) {
	for _, t := range []struct {
		on   bool
		name llm.NativeTool
	}{
		{p.NativeTools.GoogleSearch, llm.GoogleSearch},
		{p.NativeTools.URLContext, llm.URLContext},
		{p.NativeTools.CodeExecution, llm.CodeExecution},
	} {
		if t.on {
			out = append(out, t.name)
		}
	}
	return out
}

// wireNames spells the tools' names in a conversation as the model was told them.
func wireNames(messages []agent.Message) []agent.Message {
	for i := range messages {
		calls := append([]agent.ToolCall(nil), messages[i].ToolCalls...)
		for n := range calls {
			calls[n].Name = tool.WireName(calls[n].Name)
		}
		messages[i].ToolCalls = calls
	}
	return messages
}

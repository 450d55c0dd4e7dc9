package modelcall

import (
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/reveal"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/outgoing"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// addOmissions adds notices about the tools that the model's server would refuse, once per tool and reason.
func (g *generation) addOmissions(stored []transcript.Entry, tools []llm.Tool) {
	_, left := outgoing.Tools(tools, g.provider().Dialect())
	g.addNotice(stored, g.omissions(left))
}

// omissions describes what requests leave out because the model's server does not accept it, one line each.
func (g *generation) omissions(left []llm.Omission) string {
	model := g.provider().Model
	var lines []string
	for _, omitted := range left {
		if omitted.Tool == "" {
			lines = append(lines, fmt.Sprintf("Requests to %s are adapted: %s.", model, omitted.Why))
			continue
		}
		name := omitted.Tool
		if spec, known := g.Job.Tools.Spec(name); known {
			name = spec.Name
		}
		lines = append(lines, fmt.Sprintf("Tool %s is not offered to %s: %s.", reveal.Name(name), model, omitted.Why))
	}
	if more := len(lines) - job.MaxNoticed; more > 0 {
		lines = append(lines[:job.MaxNoticed], fmt.Sprintf("Further tools that are not offered to %s: %d.", model, more))
	}
	return strings.Join(lines, "\n")
}

// nativeTools returns the tools that the provider runs itself.
func nativeTools(p *plan.Provider) (out []llm.NativeTool) {
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

// wireNames replaces the tools' names in a conversation with the names that the model was given.
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

package builtin

import (
	"encoding/json"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

var searchToolsSchema = json.RawMessage(`{"type":"object","properties":{
"query":{"type":"string","minLength":1,"maxLength":500,"description":"What the tool should do, such as: list failed pipelines"},
"limit":{"type":"integer","minimum":1,"maximum":20,"description":"Maximum number of tools (default 5)"}},
"required":["query"],"additionalProperties":false}`)

// SearchTools describes the tool that finds an agent's other tools. It runs where the agent's permissions are known.
func SearchTools() tool.Spec {
	return tool.Spec{
		Name: agent.ToolSearchTools,
		Description: "Finds tools by what they do. You can call the tools that it finds from your next reply on. " +
			"Use words for the action, the system and the kind of object.",
		Schema: searchToolsSchema, Risk: agent.RiskReadOnly,
	}
}

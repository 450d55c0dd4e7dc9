package doctor

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/tool"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	const schema = `{"properties":{"b":{"type":"string"},"c":{"type":["integer","null"]},"a":{"anyOf":[]},"z":{"type":"array"}},` +
		`"required":["z","b"]}`
	anything := json.RawMessage(`{"type":"object"}`)
	tests := map[string]struct {
		spec tool.Spec
		want system.ToolInfo
	}{
		"of a server": {
			tool.Spec{Name: "k8s.get.pods", Description: "Lists pods", Schema: json.RawMessage(schema), Risk: agent.RiskReadOnly,
				RiskFrom: tool.SourceAnnotation},
			system.ToolInfo{Name: "k8s.get.pods", Type: system.ToolMCP, Description: "Lists pods", Server: "k8s",
				InputSchema: json.RawMessage(schema),
				Parameters: []system.ToolParameter{
					{Name: "b", Type: "string", Required: true}, {Name: "z", Type: "array", Required: true}, {Name: "a", Type: "any"},
					{Name: "c", Type: "integer|null"},
				},
				Risk: agent.RiskReadOnly, RiskFrom: tool.SourceAnnotation, Idempotency: tool.Safe},
		},
		"built in, and nothing known": {
			tool.Spec{Name: "shell"},
			system.ToolInfo{Name: "shell", Type: system.ToolCode, Module: "builtin", InputSchema: anything, Parameters: []system.ToolParameter{},
				Risk: agent.RiskUnknown, RiskFrom: tool.SourceProgram, Idempotency: tool.NonIdempotent},
		},
		"a schema that is none": {
			tool.Spec{Name: "s.x", Schema: json.RawMessage(`true`), Risk: agent.RiskDestructive, RiskFrom: tool.SourceAnnotation},
			system.ToolInfo{Name: "s.x", Type: system.ToolMCP, Server: "s", InputSchema: json.RawMessage(`true`),
				Parameters: []system.ToolParameter{}, Risk: agent.RiskDestructive, RiskFrom: tool.SourceAnnotation, Idempotency: tool.NonIdempotent},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.want.Definition = tt.spec.Definition()
			if diff := cmp.Diff(tt.want, describe(tt.spec)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

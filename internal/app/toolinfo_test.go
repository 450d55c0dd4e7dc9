package app

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/tool"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	const schema = `{"properties":{"b":{"type":"string"},"c":{"type":["integer","null"]},"a":{"anyOf":[]},"z":{"type":"array"}},` +
		`"required":["z","b"]}`
	anything := json.RawMessage(`{"type":"object"}`)
	tests := map[string]struct {
		spec tool.Spec
		want ToolInfo
	}{
		"of a server": {
			tool.Spec{Name: "k8s.get.pods", Description: "Lists pods", Schema: json.RawMessage(schema), Risk: agent.RiskReadOnly,
				RiskFrom: tool.SourceAnnotation},
			ToolInfo{Name: "k8s.get.pods", Type: ToolMCP, Description: "Lists pods", Server: "k8s", InputSchema: json.RawMessage(schema),
				Parameters: []ToolParameter{{"b", "string", true}, {"z", "array", true}, {"a", "any", false}, {"c", "integer|null", false}},
				Risk:       agent.RiskReadOnly, RiskFrom: tool.SourceAnnotation, Idempotency: tool.Safe},
		},
		"built in, and nothing known": {
			tool.Spec{Name: "shell"},
			ToolInfo{Name: "shell", Type: ToolCode, Module: "builtin", InputSchema: anything, Parameters: []ToolParameter{},
				Risk: agent.RiskUnknown, RiskFrom: tool.SourceProgram, Idempotency: tool.NonIdempotent},
		},
		"a schema that is none": {
			tool.Spec{Name: "s.x", Schema: json.RawMessage(`true`), Risk: agent.RiskDestructive, RiskFrom: tool.SourceAnnotation},
			ToolInfo{Name: "s.x", Type: ToolMCP, Server: "s", InputSchema: json.RawMessage(`true`), Parameters: []ToolParameter{},
				Risk: agent.RiskDestructive, RiskFrom: tool.SourceAnnotation, Idempotency: tool.NonIdempotent},
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

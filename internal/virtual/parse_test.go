package virtual

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The messages are the spec's (tools, "Virtual agents"). Problems that the spec does not cover are named by their
// place.
func TestParse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		raw  string
		want Problems
	}{
		"whole": {raw: `{"name":"Triage","type":"react","description":"d","system_prompt":"s","config":{"agent_source":"virtual",
			"default_model":"openai:gpt-4o","mcp_servers":["k8s"],"tool_config":{"enabled_tools":[],"disabled_tools":["shell"],
			"tool_permissions":{"k8s.get":{"max_results":5,"rate_limit_per_minute":10,"timeout_seconds":3,"requires_approval":true,
			"allowed_ns_patterns":["dev-*"]}}}}}`},
		"nothing":   {`{}`, Problems{"Virtual agents must specify a default_model"}},
		"no object": {`[]`, Problems{"a definition must be a JSON object"}},
		"null":      {`null`, Problems{"a definition must be a JSON object"}},
		"two":       {`{}{}`, Problems{"unexpected text after the definition"}},
		"all at once": {
			`{"name":1,"typ":"react","config":{"agent_source":"config","tool_config":{"enabled_tools":"shell","disabled_tools":{},
				"tool_permissions":{"a":[],"b":{"max_results":"5","rate_limit_per_minute":1.5,"remember":true},"c":null},
				"confirm_destructive":false}}}`, Problems{
				`typ is not known; did you mean "type"?`,
				"name must be a string",
				`config.agent_source must be "virtual"`,
				"Virtual agents must specify a default_model",
				"tool_config.confirm_destructive is not known",
				"tool_config.enabled_tools must be a list",
				"tool_config.disabled_tools must be a list",
				"tool_config.tool_permissions.a must be a dictionary",
				"tool_config.tool_permissions.b.max_results must be an integer",
				"tool_config.tool_permissions.b.rate_limit_per_minute must be an integer",
				"tool_config.tool_permissions.b.remember is not known",
				"tool_config.tool_permissions.c must be a dictionary",
			},
		},
		"keys of the configuration's entries": {
			`{"mcp_servers":["k8s"],"tool_config":{},"custom_instructions":"x","config":{"default_model":"m","enabled_tools":[],"type":"react"}}`,
			Problems{
				"custom_instructions is not known; it belongs at system_prompt",
				"mcp_servers is not known; it belongs at config.mcp_servers",
				"tool_config is not known; it belongs at config.tool_config",
				"config.enabled_tools is not known; it belongs at config.tool_config.enabled_tools",
				"config.type is not known; it belongs at type",
			},
		},
		"lists": {`{"config":{"default_model":"m","tool_config":{"enabled_tools":[1],"tool_permissions":[]}}}`, Problems{
			"tool_config.enabled_tools[0] must be a string", "tool_config.tool_permissions must be a dictionary",
		}},
		"tool_config": {`{"config":{"default_model":"m","tool_config":[]}}`, Problems{"tool_config must be a dictionary"}},
		"config":      {`{"config":"x"}`, Problems{"config must be a dictionary", "Virtual agents must specify a default_model"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(tt.raw))
			var got Problems
			_ = errors.As(err, &got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := Parse([]byte(`{"description":"` + strings.Repeat("x", MaxSize) + `"}`)); err == nil {
		t.Error("a definition of any size is taken")
	}
}

package llmtest_test

import (
	"io"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// TestStrict checks that each rule refuses a request. The last row of a target is an accepted one.
func TestStrict(t *testing.T) {
	t.Parallel()
	const (
		any    = llmtest.Target(-1) // the rules of every server
		user   = `{"role":"user","content":"a"}`
		result = `{"role":"tool","tool_call_id":"c00001x00","content":"r"}`
		tools  = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]`
	)
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"c00001x00","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	schema := func(schema string) string {
		return `"messages":[` + user + `],"tools":[{"type":"function","function":{"name":"f","parameters":` + schema + `}}]`
	}
	said := func(messages ...string) string { return `"messages":[` + strings.Join(messages, ",") + `],` + tools }
	for _, tt := range []struct {
		target     llmtest.Target
		body, want string // empty means accepted
	}{
		{any, schema(`{"type":"object"}`), "object schema missing properties"},
		{any, schema(`{"type":"object","properties":{"a":{"type":"array"}}}`), "array schema missing items"},
		{any, schema(`{"type":"object","properties":{},"anyOf":[]}`), "does not support anyOf at the top level"},
		{any, schema(`{"type":"object","properties":{"a":{"type":["string","null"]}}}`), "cannot start list"},
		{any, schema(`{}`), "schema must be"},
		{any, said(user, strings.Replace(call, `{}`, `{`, 1), result), "arguments must be a JSON object"},
		{any, said(user, strings.Replace(call, `"name":"f",`, ``, 1), result), `function.name: \"\" is invalid`},
		{any, said(user, `{"role":"assistant","content":" "}`, user), "but not none"},
		{any, said(user, call, user), "must be followed by tool messages"},
		{any, said(user, call), "must be followed by tool messages"},
		{any, said(user, call, result, call, result), "ids must be unique"},
		{any, said(user, result), "must follow the call that it answers"},
		{any, strings.TrimSuffix(said(user, call, result), ","+tools), "toolConfig field must be defined"},
		{any, said(user, call, result, user), ""},
		{llmtest.StrictOpenAI, schema(`{"type":"object","properties":{}},"description":"` + strings.Repeat("x", 1025) + `"`),
			"maximum length 1024"},
		{llmtest.StrictOpenAI, `"messages":[` + user + `],"tools":[]`, "Invalid 'tools': empty array"},
		{llmtest.StrictOpenAI, `"messages":[{"role":"assistant","content":"a","tool_calls":[]},` + user + `]`, "tool_calls': empty array"},
		{llmtest.StrictOpenAI, `"messages":[` + user + `],"tool_choice":"none"`, "only allowed when 'tools' are specified"},
		{llmtest.StrictAnthropic, schema(`{"type":"object","properties":{"a b":{}}}`), "Property keys should match"},
		{llmtest.StrictAnthropic, schema(`{"type":"object","properties":{"a":{"$ref":"#"}}}`), "references are not supported"},
		{llmtest.StrictAnthropic, schema(`{"type":"object","properties":{"a":{"minimum":"1"}}}`), "draft/2020-12"},
		{llmtest.StrictGemini, schema(`{"type":"object","properties":{"a":{"const":1}}}`), "Cannot find field"},
		{llmtest.StrictGemini, schema(`{"type":"object","properties":{"a":` + strings.Repeat(`{"anyOf":[`, 16) + `{}` +
			strings.Repeat(`]}`, 16) + `}}`), "exceeds the maximum allowed nesting depth"},
		{llmtest.StrictBedrock, schema(`{"type":"object","properties":{}},"description":""`), "valid min length: 1"},
		{llmtest.StrictBedrock, schema(`{"type":"object","properties":{},"additionalProperties":false}`), "extraneous key"},
		{llmtest.StrictBedrock, said(user, call, result) + `,"tool_choice":"none"`, "doesn't support tool_choice=none"},
		{llmtest.StrictBedrock, said(call, result), "must start with a user message"},
		{llmtest.StrictBedrock, said(user, call, strings.Replace(result, `"r"`, `""`, 1)), "is blank"},
		{llmtest.StrictMistral, strings.ReplaceAll(said(user, call, result), "c00001x00", "call_1"), "must match ^[a-zA-Z0-9]{9}$"},
		{llmtest.StrictMistral, said(user, call, result, user), "Unexpected role 'user' after role 'tool'"},
		{llmtest.StrictMistral, said(user, call, result, `{"role":"assistant","content":"ok"}`, user), ""},
		{llmtest.StrictVLLM, said(user, user), "roles must alternate"},
		{llmtest.StrictVLLM, said(user, call, result, user), "roles must alternate"},
		{llmtest.StrictVLLM, said(user, `{"role":"system","content":"s"}`), "System message must be at the beginning"},
		{llmtest.StrictVLLM, said(user, call, result, `{"role":"assistant","content":"ok"}`, user), ""},
	} {
		script := llmtest.Always(llmtest.Text("ok"))
		if tt.target != any {
			script = llmtest.Strict(tt.target, script)
		}
		resp := post(t, llmtest.Start(t, script), `{"model":"m",`+tt.body+`}`)
		answer, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if refused := resp.StatusCode == 400; err != nil || refused != (tt.want != "") || !strings.Contains(string(answer), tt.want) {
			t.Errorf("%d %s: %d %s, want %q", tt.target, tt.body, resp.StatusCode, answer, tt.want)
		}
	}
}

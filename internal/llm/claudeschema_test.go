package llm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/llm"
)

func TestClaudeKeepsSchema(t *testing.T) {
	t.Parallel()
	object := func(properties, required string) string {
		return `{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`
	}
	many := func(n int, of string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(`"p%d":%s`, i, of))
		}
		return strings.Join(out, ",")
	}
	const text = `{"type":"string"}`
	for name, tt := range map[string]struct {
		schema string
		want   bool
	}{
		"all that there is": {`{"type":"object","properties":{"b":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/d"}},` +
			`"t":{"type":"string","format":"date-time"},` +
			`"c":{"anyOf":[{"type":"integer"},{"enum":["x",1,null]}]}},"required":["b"],"additionalProperties":false,"$defs":{"d":` +
			object(`"n":`+text, `"n"`) + `}}`, true},
		"an open object":        {`{"type":"object","properties":{"a":` + text + `}}`, false},
		"an open object in it":  {object(`"a":{"type":"object"}`, `"a"`), false},
		"a length":              {object(`"a":{"type":"string","maxLength":3}`, `"a"`), false},
		"two items at least":    {object(`"a":{"type":"array","minItems":2,"items":`+text+`}`, `"a"`), false},
		"a format of its own":   {object(`"a":{"type":"string","format":"iban"}`, `"a"`), false},
		"values that are lists": {object(`"a":{"enum":[["x"]]}`, `"a"`), false},
		"one that refers to itself": {`{"type":"object","properties":{"a":{"$ref":"#/$defs/d"}},"required":["a"],"additionalProperties":false,` +
			`"$defs":{"d":{"type":"array","items":{"$ref":"#/$defs/d"}}}}`, false},
		"a reference to elsewhere": {object(`"a":{"$ref":"https://example.com/s"}`, `"a"`), false},
		"24 optional fields":       {object(many(24, text), ""), true},
		"one more":                 {object(many(25, text), ""), false},
		"too many unions":          {object(many(17, `{"type":["string","null"]}`), ""), false},
		"a list":                   {`{"type":"array","items":` + text + `}`, false},
		"nothing":                  {``, false},
	} {
		if got := llm.ClaudeKeepsSchema("claude-haiku-4-5", json.RawMessage(tt.schema)); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if llm.ClaudeKeepsSchema("claude-opus-4-1", json.RawMessage(object("", ""))) {
		t.Error("Opus 4.1 has no structured output")
	}
}

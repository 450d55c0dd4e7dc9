package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/tool"
)

func TestCheckSchema(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ schema, want string }{
		"usable":           {`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, ""},
		"not JSON":         {`{`, "EOF"},
		"no schema":        {`[]`, "got array, want boolean or object"},
		"wrong keyword":    {`{"type":"objekt","required":"a"}`, "at '/required': got string, want array"},
		"another document": {`{"$ref":"file:///etc/passwd"}`, "the schema refers to another document: file:///etc/passwd"},
		"nothing there":    {`{"$ref":"#/$defs/none"}`, `json-pointer in "#/$defs/none" not found`},
		"foreign pattern":  {`{"pattern":"(?=a)"}`, "(?=a)"},
		"another dialect":  {`{"$schema":"https://h/schema"}`, "the schema refers to another document: https://h/schema"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tool.CheckSchema(json.RawMessage(tt.schema))
			if tt.want == "" && err == nil {
				return
			}
			if err == nil || tt.want == "" || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("CheckSchema = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestMapProse(t *testing.T) {
	t.Parallel()
	const schema = `{"default":{"a":["x"]},"enum":["x"],"examples":["x",1],"properties":{"default":{"const":"x","default":"x"},` +
		`"p":{"description":"x"}}}`
	const want = `{"default":{"a":["-"]},"enum":["x"],"examples":["-",1],"properties":{"default":{"const":"x","default":"-"},` +
		`"p":{"description":"-"}}}`
	if got := tool.MapProse(json.RawMessage(schema), func(s string) string { return strings.ReplaceAll(s, "x", "-") }); string(got) != want {
		t.Errorf("%s", got)
	}
}

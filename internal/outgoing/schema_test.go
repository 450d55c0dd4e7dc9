package outgoing_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

// TestSchema lists schemas that servers have refused, and their replacements.
func TestSchema(t *testing.T) {
	t.Parallel()
	const object = `{"type":"object","properties":`
	tests := []struct {
		name  string
		form  agent.SchemaForm
		in    string
		want  string // "" means that it cannot be expressed
		notes string
	}{
		{name: "nothing", in: ``, want: object + `{}}`},
		{name: "no properties (mcphost #88)", in: `{"type":"object"}`, want: object + `{}}`},
		{name: "no items (mcphost #35)", in: object + `{"a":{"type":"array"}}}`, want: object + `{"a":{"type":"array","items":{}}}}`},
		{name: "nothing to rewrite", in: object + `{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"]}`,
			want: object + `{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"]}`},
		{name: "words that Nova refuses at the top",
			in:   `{"$schema":"http://json-schema.org/draft-07/schema#","title":"T","type":"object","properties":{},"additionalProperties":false}`,
			want: object + `{}}`},
		{name: "anyOf at the top",
			in: `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"},"n":{"type":"string"}},"required":["a","n"]},` +
				object + `{"b":{"type":"integer"},"n":{"type":"integer"}},"required":["b","n"]}]}`,
			want: object + `{"a":{"type":"string"},"b":{"type":"integer"},"n":{"anyOf":[{"type":"string"},{"type":"integer"}]}},` +
				`"required":["n"]}`,
			notes: "One of these sets of arguments is required: {a, n}; {b, n}."},
		{name: "oneOf at the top, of what is required", in: object + `{"a":{"type":"string"},"b":{}},"oneOf":[{"required":["a"]},` +
			`{"required":["b"]}]}`,
			want: object + `{"a":{"type":"string"},"b":{}}}`, notes: "One of these sets of arguments is required: {a}; {b}."},
		{name: "allOf at the top",
			in: `{"allOf":[{"$ref":"#/$defs/A"},{"properties":{"b":{"type":"integer"}},"required":["b"]}],` +
				`"$defs":{"A":{"type":"object","properties":{"a":{"const":"x"}},"required":["a"]}}}`,
			want: object + `{"a":{"type":"string","enum":["x"]},"b":{"type":"integer"}},"required":["a","b"]}`},
		{name: "allOf of two references", in: object + `{"f":{"allOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}]}},"$defs":{` +
			`"A":{"type":"object","properties":{"a":{}},"required":["a"]},"B":{"allOf":[{"properties":{"b":{}}},{"$ref":"#/$defs/C"}]},` +
			`"C":{"properties":{"c":{}}}}}`,
			want: object + `{"f":{"type":"object","properties":{"a":{},"b":{},"c":{}},"required":["a"]}}}`},
		{name: "enum and not at the top", in: object + `{"a":{"type":"string"}},"not":{"required":["b"]},"enum":[{"a":"x"}]}`,
			want: object + `{"a":{"type":"string"}}}`},
		{name: "if, then, else", in: object + `{"a":{"type":"string"}},"if":{"required":["a"]},"then":{"required":["b"]}}`,
			want: object + `{"a":{"type":"string"}}}`},
		{name: "a reference", in: object + `{"f":{"$ref":"#/$defs/F","description":"which"}},` +
			`"$defs":{"F":` + object + `{"ns":{"type":"string"}}}}}`,
			want: object + `{"f":{"type":"object","properties":{"ns":{"type":"string"}},"description":"which"}}}`},
		{name: "a reference to an anchor", in: object + `{"f":{"$ref":"#n"}},"$defs":{"F":{"$anchor":"n","type":"string"}}}`,
			want: object + `{"f":{"type":"string"}}}`},
		{name: "references to nothing and to elsewhere", in: object + `{"a":{"$ref":"#/$defs/X"},"b":{"$ref":"https://example.com/s"}}}`,
			want: object + `{"a":{},"b":{}}}`},
		{name: "recursion", in: `{"$ref":"#/$defs/N","$defs":{"N":` + object + `{"v":{"type":"string"},"kids":{"type":"array",` +
			`"items":{"$ref":"#/$defs/N"}}}}}}`,
			want: object + `{"v":{"type":"string"},"kids":{"type":"array","items":` + object +
				`{"v":{"type":"string"},"kids":{"type":"array","items":{"type":"object","properties":{}}}}}}}}`},
		{name: "a reference to itself", in: `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, want: object + `{"a":{}}}`},
		{name: "several types, and null", in: object + `{"a":{"type":["string","null"],"description":"d"},"b":{"type":["integer",` +
			`"string"],"minimum":1}}}`,
			want: object + `{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"description":"d"},` +
				`"b":{"anyOf":[{"type":"integer","minimum":1},{"type":"string"}]}}}`},
		{name: "types of other languages", in: object + `{"a":{"type":"int"},"b":{"type":"any"},"c":{"type":"dict"},"d":{"type":"STRING"}}}`,
			want: object + `{"a":{"type":"integer"},"b":{},"c":{"type":"object","properties":{}},"d":{"type":"string"}}}`},
		{name: "missing types", in: object + `{"a":{"enum":["x"]},"b":{"items":{"type":"string"}},"c":{"properties":{}},` +
			`"d":{"minimum":1},"e":{"description":"?"}}}`,
			want: object + `{"a":{"type":"string","enum":["x"]},"b":{"type":"array","items":{"type":"string"}},"c":{"type":"object",` +
				`"properties":{}},` +
				`"d":{"type":"number","minimum":1},"e":{"description":"?"}}}`},
		{name: "an enum of several types", in: object + `{"a":{"enum":[1,"x",null]}}}`,
			want: object + `{"a":{"anyOf":[{"type":"integer","enum":[1]},{"type":"string","enum":["x"]},{"type":"null"}]}}}`},
		{name: "constants", in: object + `{"a":{"oneOf":[{"const":"x","description":"the first"},{"const":"y"}]}}}`,
			want: object + `{"a":{"type":"string","enum":["x","y"],"description":"\"x\": the first"}}}`},
		{name: "lists of objects and of lists", in: object + `{"a":{"enum":[{"b":1},{"b":1},[1]]},"c":{"const":{}}},"enum":[{"a":1},{}]}`,
			want: object + `{"a":{"anyOf":[{"type":"object","properties":{},"description":"One of: {\"b\":1}"},` +
				`{"type":"array","items":{},"description":"One of: [1]"}]},"c":{"type":"object","properties":{},"description":"One of: {}"}}}`},
		{name: "boolean schemas", in: object + `{"a":true,"b":false,"c":{"type":"array","items":false}},"required":["a","b"]}`,
			want: object + `{"a":{},"c":{"type":"array","items":{}}},"required":["a"]}`},
		{name: "places of a list", in: object + `{"a":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]},` +
			`"b":{"items":[{"type":"string"}]}}}`,
			want: object + `{"a":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"b":{"type":"array",` +
				`"items":{"type":"string"}}}}`},
		{name: "values of the wrong kind", in: object + `{"a":{"type":"string","minLength":"3","pattern":"(?=x)","description":7,` +
			`"enum":[]}},"required":true}`,
			want: object + `{"a":{"type":"string"}}}`},
		{name: "bounds of version 4", in: object + `{"a":{"type":"integer","minimum":3,"exclusiveMinimum":true}}}`,
			want: object + `{"a":{"type":"integer","exclusiveMinimum":3}}}`},
		{name: "required twice, and not described", in: object + `{},"required":["a","a",7]}`, want: object + `{"a":{}},"required":["a"]}`},
		{name: "names that Anthropic refuses", in: object + `{"Account Number":{"type":"string"},"ok":{"type":"string"}},` +
			`"required":["Account Number","ok"]}`,
			want: object + `{"ok":{"type":"string"}},"required":["ok"]}`, notes: `There is another argument,` +
				` "Account Number" (required): {"type":"string"}`},
		{name: "arguments of any name", in: object + `{},"additionalProperties":{"type":"integer"}}`, want: object + `{}}`,
			notes: `Arguments with other names are allowed; each must match this schema: {"type":"integer"}`},
		{name: "patterns of names", in: object + `{"l":{"type":"object","patternProperties":{"^x-":{"type":"string"}}}}}`,
			want: object + `{"l":{"type":"object","properties":{},"additionalProperties":{"type":"string"}}}}`},
		{name: "alternatives of an object within",
			in: object + `{"o":{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},` +
				`{"properties":{"b":{"type":"string"}},"required":["b"]}]}}}`,
			want: object + `{"o":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},` +
				`"description":"One of these sets of arguments is required: {a}; {b}."}}}`},
		{name: "no JSON", in: `{`},
		{name: "no object", in: `{"type":"string"}`},
		{name: "nothing fits", in: `false`},
		{name: "two types that exclude each other", in: `{"allOf":[{"type":"object"},{"type":"string"}]}`},

		{name: "Gemini: words that it does not document", form: agent.SchemaGemini,
			in:   object + `{"a":{"type":"string","pattern":"x","default":"y","minLength":1,"title":"A"},"n":{"type":"integer","enum":[1,2]}}}`,
			want: object + `{"a":{"type":"string","title":"A"},"n":{"type":"integer","enum":[1,2]}}}`},
		{name: "Gemini: names", form: agent.SchemaGemini, in: object + `{"$filter":{"type":"string"}}}`, want: object + `{}}`,
			notes: `There is another argument, "$filter" (optional): {"type":"string"}`},

		{name: "OpenAPI: integer enums (azure-devops-mcp #145)", form: agent.SchemaOpenAPI, in: object + `{"n":{"type":"integer",` +
			`"enum":[1,2]}}}`,
			want: object + `{"n":{"type":"integer","description":"One of: 1,2"}}}`},
		{name: "OpenAPI: objects without properties (kubernetes-mcp-server #340)", form: agent.SchemaOpenAPI,
			in:   object + `{"l":{"type":"object","additionalProperties":{"type":"string"}}}}`,
			want: object + `{"l":{"type":"string","description":"A JSON object, encoded as a string."}}}`},
		{name: "OpenAPI: missing types", form: agent.SchemaOpenAPI, in: object + `{"a":{},"l":{"type":"array"}}}`,
			want: object + `{"a":{"type":"string","description":"Any JSON value, encoded as a string."},` +
				`"l":{"type":"array","items":{"type":"string","description":"Any JSON value, encoded as a string."}}}}`},
		{name: "OpenAPI: unions, null, formats", form: agent.SchemaOpenAPI,
			in: object + `{"u":{"anyOf":[{"type":"string"},{"type":"integer"}]},"n":{"type":["null","number"],"format":"double"},` +
				`"f":{"type":"string","format":"uri"}}}`,
			want: object + `{"u":{"type":"string","description":"Or: {\"type\":\"integer\"}"},` +
				`"n":{"type":"number","format":"double","nullable":true},"f":{"type":"string"}}}`},
		{name: "OpenAPI: no arguments at all", form: agent.SchemaOpenAPI, in: `{"type":"object","additionalProperties":{"type":"string"}}`,
			want: object + `{}}`, notes: `Arguments with other names are allowed; each must match this schema: {"type":"string"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, notes, err := outgoing.Schema(json.RawMessage(tt.in), tt.form)
			if (err == nil) != (tt.want != "") {
				t.Fatalf("%s, %v", got, err)
			}
			if diff := gocmp.Diff(parsed(t, tt.want), parsed(t, string(got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if said := strings.Join(notes, "\n"); tt.notes != "" && said != tt.notes {
				t.Errorf("notes %q, want %q", said, tt.notes)
			}
			second, _, err := outgoing.Schema(got, tt.form)
			if tt.want != "" && (err != nil || string(second) != string(got)) {
				t.Errorf("rewritten again, it is %s, %v", second, err)
			}
		})
	}
}

func parsed(t *testing.T, text string) (value any) {
	t.Helper()
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// TestOrderIsKept checks that properties keep their author's order, because models fill in arguments in that order.
func TestOrderIsKept(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{ "type":"object", "properties":{"z":{"type":"string"},"a":{"type":"string"}} }`: ``, // unchanged
		`{"type":"object","properties":{"z":{"type":"string", "maxLength":1},"a":{"type":"array"},"m":false,"b":{}},"required":["z"],` +
			`"additionalProperties":false}`: `{"type":"object","properties":{"z":{"type":"string", "maxLength":1},` +
			`"a":{"items":{},"type":"array"},"b":{}},"required":["z"]}`,
	} {
		got, _, err := outgoing.Schema(json.RawMessage(in), agent.SchemaJSON)
		if string(got) != cmp.Or(want, in) || err != nil {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

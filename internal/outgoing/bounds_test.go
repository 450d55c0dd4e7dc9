package outgoing_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/outgoing"
)

// levels returns the nesting depth of objects and arrays.
func levels(schema []byte) (most int) {
	depth := 0
	decoder := json.NewDecoder(strings.NewReader(string(schema)))
	for {
		token, err := decoder.Token()
		switch {
		case err != nil:
			return most
		case token == json.Delim('{') || token == json.Delim('['):
			depth++
			most = max(most, depth)
		case token == json.Delim('}') || token == json.Delim(']'):
			depth--
		}
	}
}

// TestSchemaBounds checks schemas that are short, or within the limits for tools, but whose references, unions or depth
// would fill a worker's memory or a model's window.
func TestSchemaBounds(t *testing.T) {
	t.Parallel()
	nested := func(n int, open, inner, end string) string {
		return `{"type":"object","properties":{"a":` + strings.Repeat(open, n) + inner + strings.Repeat(end, n) + `}}`
	}
	repeated := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ",")
	}
	// graph returns definitions that refer to fan others each, in the given notation.
	graph := func(n, fan int, begin, each, end string) string {
		var definitions []string
		for i := range n {
			var refs []string
			for f := range fan {
				refs = append(refs, fmt.Sprintf(each, f, (i+f+1)%n))
			}
			definitions = append(definitions, fmt.Sprintf(`"d%d":`, i)+begin+strings.Join(refs, ",")+end)
		}
		return `{"type":"object","properties":{"r":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(definitions, ",") + `}}`
	}
	for name, schema := range map[string]string{
		"objects":              nested(60, `{"type":"object","properties":{"a":`, `{}`, `}}`),
		"lists":                nested(60, `{"type":"array","items":`, `{}`, `}`),
		"maps":                 nested(60, `{"type":"object","additionalProperties":`, `{}`, `}`),
		"unions":               nested(30, `{"anyOf":[{"type":"string"},`, `{}`, `]}`),
		"unions of lists":      nested(25, `{"anyOf":[{"type":"string"},{"type":"array","items":`, `{"type":"integer"}`, `}]}`),
		"unions with null":     nested(20, `{"anyOf":[{"type":"null"},{"type":"array","items":`, `{"type":"integer"}`, `}]}`),
		"several types":        nested(20, `{"type":["array","string","null"],"items":`, `{"type":"integer"}`, `}`),
		"all of each other":    nested(30, `{"allOf":[{"minLength":1},`, `{}`, `]}`),
		"a deep default":       nested(1, `{"default":`+strings.Repeat(`{"x":`, 60), `1`, strings.Repeat(`}`, 61)),
		"a graph of objects":   graph(30, 20, `{"type":"object","properties":{`, `"p%d":{"$ref":"#/$defs/d%d"}`, `}}`),
		"a graph of unions":    graph(30, 20, `{"anyOf":[`, `{"type":"object","properties":{"p%d":{"$ref":"#/$defs/d%d"}}}`, `]}`),
		"a graph of all":       graph(30, 20, `{"allOf":[`, `{"properties":{"p%d":{"$ref":"#/$defs/d%d"}}}`, `]}`),
		"twice all of another": graph(40, 2, `{"allOf":[`, `{"title":"%d","$ref":"#/$defs/d%d"}`, `]}`),
		"many values":          `{"type":"object","properties":{"a":{"enum":[` + repeated(10_000, "%d") + `]}}}`,
		"many constants":       `{"type":"object","properties":{"a":{"anyOf":[` + repeated(3_500, `{"const":"v%d"}`) + `]}}}`,
		"many objects":         `{"type":"object","properties":{"a":{"anyOf":[` + repeated(1_800, `{"properties":{"v%d":{}}}`) + `]}}}`,
		"names that are none":  `{"type":"object","properties":{` + repeated(3_000, `"a%d":{"$ref":"#x"}`) + `}}`,
		"odd names":            `{"type":"object","properties":{` + repeated(2_000, `"a b%d":{"type":"string"}`) + `}}`,
		"much required":        `{"type":"object","required":[` + repeated(6_000, `"v%d"`) + `]}`,
	} {
		for _, form := range []agent.SchemaForm{agent.SchemaJSON, agent.SchemaGemini, agent.SchemaOpenAPI} {
			t.Run(name+"/"+string(form), func(t *testing.T) {
				t.Parallel()
				out, notes, err := outgoing.Schema(json.RawMessage(schema), form)
				if err != nil && len(out) > 0 || err == nil && !json.Valid(out) {
					t.Fatalf("%v: %s", err, out)
				}
				if most := levels(out); most > 30 || len(out) > 128<<10 || len(strings.Join(notes, "")) > 17<<10 {
					t.Errorf("%d levels, %d bytes, notes of %d bytes", most, len(out), len(strings.Join(notes, "")))
				}
				if strings.HasPrefix(name, "a graph") && len(out) > 33<<10 {
					t.Errorf("%d bytes: the references are written out", len(out))
				}
			})
		}
	}
}

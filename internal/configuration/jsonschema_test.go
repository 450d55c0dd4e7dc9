package configuration

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/strict"
)

// jsonSchema returns the schema of a configuration's file, for editors. It is less strict than the validator: it does
// not check references and credentials.
func (r *manual) jsonSchema() string {
	defs := section{"template": section{"type": "string", "pattern": `\{\{`, "description": "a value with {{.VARIABLE}} in it"}}
	for _, p := range r.places {
		defs[p.Type.Name()] = r.definition(p)
	}
	top := maps.Clone(defs["Config"].(section))
	delete(defs, "Config")
	top["$schema"], top["title"], top["$defs"] = "https://json-schema.org/draft/2020-12/schema", "Inquest configuration", defs
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(top); err != nil {
		r.Fatal(err)
	}
	return out.String()
}

func (r *manual) definition(p strict.Place) section {
	properties, patterns := section{}, section{}
	for _, key := range p.Schema.Order {
		f := p.Schema.Fields[key]
		property := schemaFor(p.Type.FieldByIndex(f.Index).Type, f)
		if f.Open {
			property = schemaFor(p.Type.FieldByIndex(f.Index).Type.Elem(), f)
			patterns["^"+f.Before+".+"+f.After+"$"] = property
		} else {
			properties[key] = property
		}
		property["description"] = r.comment(p, key)
	}
	for key, instead := range p.Schema.Unused {
		properties[key] = section{"description": "does nothing: " + instead, "deprecated": true}
	}
	types := []string{"object", "null"}
	if p.Schema.Short != "" {
		types = append(types, "string")
	}
	out := section{"type": types, "properties": properties, "additionalProperties": false}
	if len(patterns) > 0 {
		out["patternProperties"] = patterns
	}
	return out
}

func schemaFor(t reflect.Type, f strict.Field) section {
	switch {
	case strict.IsDuration(t):
		return section{"type": []string{"string", "integer"}}
	case t == strict.JSONType:
		return section{}
	case t.Kind() == reflect.Pointer:
		return schemaFor(t.Elem(), f)
	case t.Kind() == reflect.Struct:
		return section{"$ref": "#/$defs/" + t.Name()}
	case t.Kind() == reflect.Map:
		return section{"type": "object", "additionalProperties": schemaFor(t.Elem(), f)}
	case t.Kind() == reflect.Slice:
		return section{"type": "array", "items": schemaFor(t.Elem(), f)}
	case t.Kind() == reflect.String && f.Enum == "":
		return section{"type": "string"}
	}
	return section{"anyOf": []section{scalarSchema(t, f), {"$ref": "#/$defs/template"}}}
}

func scalarSchema(t reflect.Type, f strict.Field) section {
	switch t.Kind() {
	case reflect.String:
		v := vocabularyOf(f.Enum)
		return section{"enum": append(v.Words, v.Aliases...)}
	case reflect.Bool:
		return section{"type": "boolean"}
	}
	out := section{"type": "integer"}
	if t.Kind() != reflect.Int {
		out["type"] = "number"
	}
	for key, bound := range map[string]*float64{"minimum": f.Bounds.Min, "exclusiveMinimum": f.Bounds.Above, "maximum": f.Bounds.Max} {
		if bound != nil {
			out[key] = *bound
		}
	}
	return out
}

// TestJSONSchema checks that the schema accepts every valid configuration, and refuses errors that a schema can detect.
func TestJSONSchema(t *testing.T) {
	t.Parallel()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(newManual(t).jsonSchema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	accepts := func(text []byte) error {
		var value any
		if err := yaml.Unmarshal(text, &value); err != nil {
			return err
		}
		return schema.Validate(value)
	}
	for _, f := range builtInFiles() {
		if err := accepts(f.Data); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		text := configurations().Draw(r, "configuration")
		if err := accepts([]byte(text)); err != nil {
			r.Fatalf("%v\n%s", err, text)
		}
	})
	wrong, err := filepath.Glob("testdata/rules/[beu]n[uk]*.txtar") // enum-…, unknown-…
	if err != nil || len(wrong) < 10 {
		t.Fatalf("fixtures %v, %v", wrong, err)
	}
	for _, name := range append(wrong, "testdata/rules/bounds-between.txtar", "testdata/rules/foreign-key.txtar",
		"testdata/rules/type-list.txtar") {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if accepts([]byte(text(archive.Files)["a.yaml"])) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

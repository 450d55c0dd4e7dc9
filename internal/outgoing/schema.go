package outgoing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// form is what a server understands of JSON Schema.
type form struct {
	keywords []string // besides those that every form has: type, description, properties, required, items
	unions   bool     // anyOf
	typed    bool     // every part needs a type, and every object properties
	enums    []string // the types whose values can be listed
	formats  []string // nil means any
}

var forms = map[agent.SchemaForm]form{
	agent.SchemaJSON: {
		keywords: []string{"title", "default", "examples", "format", "pattern", "minLength", "maxLength", "minimum", "maximum",
			"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
			"additionalProperties"},
		unions: true, enums: []string{"string", "integer", "number", "boolean"},
	},
	// https://ai.google.dev/api/generate-content#generationconfig, responseJsonSchema
	agent.SchemaGemini: {
		keywords: []string{"title", "format", "minimum", "maximum", "minItems", "maxItems", "additionalProperties"},
		unions:   true, enums: []string{"string", "integer", "number"},
	},
	// https://ai.google.dev/api/caching#Schema. Formats: "only 'enum' and 'date-time' are supported for STRING type".
	agent.SchemaOpenAPI: {
		keywords: []string{"format", "nullable"}, typed: true, enums: []string{"string"},
		formats: []string{"date-time", "int32", "int64", "float", "double"},
	},
}

// How far references are written out.
const (
	maxUnrolled = 2     // times that a definition is written out within itself
	maxParts    = 1_000 // parts of a schema with its references written out; then references are left open
)

// Schema rewrites the schema of a tool's arguments. The result has no keys but type, properties and required, as
// Amazon Nova demands of the outermost schema; notes say what these cannot. The error says why no server would
// accept the schema.
// https://docs.aws.amazon.com/nova/latest/userguide/prompting-tool-troubleshooting.html
func Schema(original json.RawMessage, to agent.SchemaForm) (out json.RawMessage, notes []string, err error) {
	defer func() { // a stranger wrote it, and the other tools must not suffer
		if recover() != nil {
			err = errors.New("its schema cannot be rewritten")
		}
	}()
	if len(bytes.TrimSpace(original)) == 0 {
		original = json.RawMessage(`{}`)
	}
	document, err := decode(string(original))
	if err != nil {
		return nil, nil, errors.New("its schema is not JSON")
	}
	r := rewriter{form: forms[to], root: document}
	root, possible := r.rewrite(document, nil)
	if root["type"] == "string" && r.form.typed { // an object without properties, or a schema without a type
		loose := rewriter{form: forms[agent.SchemaJSON], root: document}
		root, possible = loose.rewrite(document, nil)
	}
	if options, union := root["anyOf"].([]any); union {
		root = r.joined(options)
	}
	if kind, typed := root["type"]; !possible || typed && kind != "object" {
		return nil, nil, errors.New("its schema does not describe an object")
	}
	top := part{"type": "object", "properties": part{}}
	key := propertyKey
	if to != agent.SchemaJSON {
		key = googleKey
	}
	properties, _ := root["properties"].(part)
	required, _ := root["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if key.MatchString(name) {
			top["properties"].(part)[name] = properties[name]
			continue
		}
		need := "optional"
		if slices.Contains(required, any(name)) {
			need = "required"
		}
		notes = append(notes, fmt.Sprintf("There is another argument, %q (%s): %s", name, need, text(properties[name])))
	}
	required = slices.DeleteFunc(slices.Clone(required), func(name any) bool { return top["properties"].(part)[name.(string)] == nil })
	if len(required) > 0 {
		top["required"] = required
	}
	if extra, ok := root["additionalProperties"].(part); ok {
		notes = append(notes, "Arguments of other names are possible; each is: "+text(extra))
	}
	if said, ok := root["description"].(string); ok {
		notes = append(notes, said)
	}
	if reflect.DeepEqual(any(top), document) {
		return original, notes, nil
	}
	return inOrder(top, original), notes, nil
}

// inOrder writes a schema with its properties in the order of the original, in which models fill them in.
func inOrder(top part, original json.RawMessage) json.RawMessage {
	var in struct{ Properties json.RawMessage }
	_ = json.Unmarshal(original, &in) // it may be true
	var own map[string]json.RawMessage
	_ = json.Unmarshal(in.Properties, &own)
	properties := top["properties"].(part)
	names := slices.DeleteFunc(keys(in.Properties), func(name string) bool { return properties[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if _, listed := own[name]; !listed {
			names = append(names, name)
		}
	}
	var out []string
	for _, name := range names {
		written := text(properties[name])
		if value, err := decode(string(own[name])); err == nil && reflect.DeepEqual(value, properties[name]) {
			written = string(own[name])
		}
		out = append(out, text(name)+":"+written)
	}
	required := ""
	if top["required"] != nil {
		required = `,"required":` + text(top["required"])
	}
	return fmt.Appendf(nil, `{"type":"object","properties":{%s}%s}`, strings.Join(out, ","), required)
}

// keys are the keys of an object in their order, each once.
func keys(object json.RawMessage) (out []string) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for decoder.More() {
		token, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			return out
		}
		if key := token.(string); !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}

// rewriter writes a schema in another form.
type rewriter struct {
	form  form
	root  any
	parts int
}

// rewrite returns a schema in the form, with a fixed order of what it looks at; possible is false for one that no
// value matches. within are the references that lead to it.
func (r *rewriter) rewrite(value any, within []string) (out part, possible bool) {
	in, isObject := value.(part)
	if r.parts++; !isObject || r.parts > 10*maxParts {
		return r.anything(part{}), value != false
	}
	in, within, possible = r.collect(in, within)
	if !possible {
		return nil, false
	}
	if options, union := alternatives(in); union {
		return r.union(in, options, within)
	}
	switch kinds := typesOf(in); len(kinds) {
	case 0:
		return r.anything(in), true
	case 1:
		return r.typed(in, kinds[0], within), true
	default:
		var options []any
		for _, kind := range kinds {
			option := without(in, words...)
			option["type"] = kind
			options = append(options, option)
		}
		return r.union(annotations(in), options, within)
	}
}

// collect joins a schema with what it refers to and with all parts of allOf.
func (r *rewriter) collect(in part, within []string) (_ part, _ []string, possible bool) {
	for range maxParts {
		ref, refers := in["$ref"].(string)
		all, several := in["allOf"].([]any)
		switch {
		case refers:
			in = without(in, "$ref")
			target, found := find(r.root, ref)
			again := count(within, ref) >= maxUnrolled || r.parts > maxParts
			if definition, ok := target.(part); again && ok { // what is deeper is left open
				if kinds := typesOf(definition); in["type"] == nil && len(kinds) == 1 {
					in = join(in, part{"type": kinds[0]})
				}
			} else if found && !again {
				within = append(slices.Clip(within), ref)
				in, possible = joinAny(in, target)
				if !possible {
					return nil, nil, false
				}
			}
		case several:
			in = without(in, "allOf")
			for _, one := range all {
				if in, possible = joinAny(in, one); !possible {
					return nil, nil, false
				}
			}
		default:
			return in, within, true
		}
	}
	return part{}, within, true
}

// typed writes a schema of one type.
func (r *rewriter) typed(in part, kind string, within []string) part {
	out := part{"type": kind}
	for _, word := range append([]string{"description"}, r.form.keywords...) {
		if value, ok := in[word]; ok && fits(word, kind, value) {
			out[word] = value
		}
	}
	if format, ok := out["format"].(string); ok && r.form.formats != nil && !slices.Contains(r.form.formats, format) {
		delete(out, "format")
	}
	r.list(in, kind, out)
	switch kind {
	case "object":
		return r.object(in, out, within)
	case "array":
		out["items"] = r.items(in, within)
	case "integer", "number":
		if slices.Contains(r.form.keywords, "exclusiveMinimum") {
			bounds(in, out)
		}
	case "null":
		if r.form.typed {
			out["type"] = "string"
			describe(out, "Always null: leave it out.")
		}
	}
	return out
}

// list writes the values of enum and const that have the type.
func (r *rewriter) list(in part, kind string, out part) {
	var listed []any
	for _, value := range listedIn(in) {
		known := slices.ContainsFunc(listed, func(other any) bool { return reflect.DeepEqual(other, value) })
		if isKind(value, kind) && !known {
			listed = append(listed, value)
		}
	}
	switch {
	case len(listed) == 0:
	case slices.Contains(r.form.enums, kind):
		out["enum"] = listed
	default:
		values := text(listed)
		describe(out, "One of: "+values[1:len(values)-1])
	}
}

// object writes properties, and what is required among them.
func (r *rewriter) object(in, out part, within []string) part {
	properties := part{}
	known, _ := in["properties"].(part)
	impossible := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		property, possible := r.rewrite(known[name], within)
		if impossible[name] = !possible; possible {
			properties[name] = property
		}
	}
	var required []any
	needs, _ := in["required"].([]any)
	for _, need := range needs {
		name, ok := need.(string)
		if !ok || impossible[name] || slices.Contains(required, need) {
			continue
		}
		if required = append(required, need); properties[name] == nil {
			properties[name] = r.anything(part{})
		}
	}
	delete(out, "additionalProperties")
	extra, open := in["additionalProperties"], true
	if patterns, ok := in["patternProperties"].(part); ok && len(patterns) > 0 && (extra == nil || extra == false) {
		extra = nil // several patterns, or one
		if len(patterns) == 1 {
			for _, extra = range patterns {
			}
		}
	}
	if slices.Contains(r.form.keywords, "additionalProperties") {
		if _, isPart := extra.(part); isPart {
			if extra, open = r.rewrite(extra, within); !open {
				extra = false
			}
		}
		if value, isPart := extra.(part); extra == false || isPart && len(value) > 0 {
			out["additionalProperties"] = extra
		}
	}
	if r.form.typed && len(properties) == 0 {
		out = only(out, "description")
		out["type"] = "string"
		describe(out, "A JSON object, written as a text.")
		return out
	}
	if out["properties"] = properties; len(required) > 0 {
		out["required"] = required
	}
	return out
}

// items writes what an array holds: one schema, also where the places of the original differ.
func (r *rewriter) items(in part, within []string) part {
	places, tuple := in["prefixItems"].([]any)
	if rest, ok := in["items"].([]any); ok && !tuple {
		places, tuple = rest, true
	}
	if tuple && len(places) > 0 {
		if rest, ok := in["items"].(part); ok {
			places = append(slices.Clip(places), rest)
		}
		if out, possible := r.union(part{}, places, within); possible {
			return out
		}
	}
	out, _ := r.rewrite(in["items"], within)
	if out == nil {
		out = r.anything(part{})
	}
	return out
}

// anything writes a schema that says nothing about the type.
func (r *rewriter) anything(in part) part {
	out := annotations(in)
	maps.DeleteFunc(out, func(word string, _ any) bool { return word != "description" && !slices.Contains(r.form.keywords, word) })
	if r.form.typed {
		out["type"] = "string"
		describe(out, "Any JSON value, written as a text.")
	}
	return out
}

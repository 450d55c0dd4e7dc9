package outgoing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
)

// form describes the part of JSON Schema that a server understands.
type form struct {
	keywords []string // in addition to those of every form: type, description, properties, required, items
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

// Limits on expanded schemas. Third parties write them, and every model call pays for their length.
const (
	maxUnrolled = 2         // times that a definition is expanded within itself
	maxParts    = 1_000     // parts of an expanded schema; above that, references are left open
	maxWritten  = 32 << 10  // bytes of an expanded schema; above that, fewer references are expanded
	maxSchema   = 128 << 10 // bytes of a schema that is accepted at all
	maxNotes    = 16 << 10  // bytes of sentences in a description that replace parts of the schema
)

// place is the position of a part in a schema.
type place struct {
	refs  []string // references that lead to it
	depth int      // nesting depth in JSON, including the part itself
}

// in returns a place that is some levels of JSON deeper.
func (p place) in(levels int) place { return place{p.refs, p.depth + levels} }

// leaf reports whether a part is too deep to have parts: there is only room for one more level and a list in it.
func (p place) leaf() bool { return p.depth > maxDepth-2 }

// rewriteSchema rewrites the schema of a tool's arguments. The result has no keys but type, properties and required, as
// Amazon Nova demands of the outermost schema; notes say what these cannot. The error says why no server would
// accept the schema.
// https://docs.aws.amazon.com/nova/latest/userguide/prompting-tool-troubleshooting.html
func rewriteSchema(original json.RawMessage, to agent.SchemaForm) (out json.RawMessage, notes []string, err error) {
	defer func() { // a third party wrote the schema, and a failure must not affect other tools
		if recover() != nil {
			err = errors.New("its schema cannot be rewritten")
		}
	}()
	if original = bytes.TrimSpace(original); len(original) == 0 {
		original = json.RawMessage(`{}`)
	}
	document, err := decode(string(original))
	if err != nil {
		return nil, nil, errors.New("its schema is not JSON")
	}
	for _, parts := range []int{maxParts, maxParts / 10, 1} {
		out, notes, err = rewritten(original, document, to, parts)
		if len(out) <= maxWritten {
			break
		}
	}
	if len(out) > maxSchema {
		return nil, nil, fmt.Errorf("its schema would take %d KB; the limit is %d KB", len(out)>>10, maxSchema>>10)
	}
	return out, notes, err
}

// rewritten is rewriteSchema with a limit on the number of parts, after which references are left open.
func rewritten(original json.RawMessage, document any, to agent.SchemaForm, parts int) (json.RawMessage, []string, error) {
	var notes []string
	r := rewriter{form: forms[to], root: document, limit: parts}
	root, possible := r.rewrite(document, place{depth: 1})
	if root["type"] == "string" && r.form.typed { // an object without properties, or a schema without a type
		loose := rewriter{form: forms[agent.SchemaJSON], root: document, limit: parts}
		root, possible = loose.rewrite(document, place{depth: 1})
	}
	if options, union := root["anyOf"].([]any); union {
		root = r.joined(options, place{depth: 1})
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
		notes = append(notes, sentence(fmt.Sprintf("There is another argument, %q (%s): %s", name, need, text(properties[name]))))
	}
	required = slices.DeleteFunc(slices.Clone(required), func(name any) bool { return top["properties"].(part)[name.(string)] == nil })
	if len(required) > 0 {
		top["required"] = required
	}
	if extra, ok := root["additionalProperties"].(part); ok {
		notes = append(notes, sentence("Arguments with other names are allowed; each must match this schema: "+text(extra)))
	}
	if said, ok := root["description"].(string); ok {
		notes = append(notes, said)
	}
	notes = fewer(notes)
	if reflect.DeepEqual(any(top), document) {
		return original, notes, nil
	}
	return inOrder(top, original), notes, nil
}

// fewer returns the notes that fit into the description of a tool.
func fewer(notes []string) []string {
	length := 0
	for n, note := range notes {
		if length += len(note); length > maxNotes {
			return append(slices.Clip(notes[:n]), fmt.Sprintf("(Further notes about the arguments, not shown: %d.)", len(notes)-n))
		}
	}
	return notes
}

// rewriter writes a schema in another form.
type rewriter struct {
	form    form
	root    any
	parts   int             // parts that have been visited
	limit   int             // on parts, after which references are left open
	anchors map[string]part // the named parts of root; nil until they are needed
}

// rewrite returns a schema in the target form, checking its keywords in a fixed order. possible is false if no value
// matches the schema.
func (r *rewriter) rewrite(value any, at place) (out part, possible bool) {
	in, isObject := value.(part)
	if r.parts++; !isObject || r.parts > 10*maxParts {
		return r.anything(part{}, at), value != false
	}
	in, at.refs, possible = r.collect(in, at.refs)
	if !possible {
		return nil, false
	}
	if at.leaf() {
		return r.anything(in, at), true
	}
	if options, union := alternatives(in); union {
		return r.union(in, options, at)
	}
	switch kinds := typesOf(in); len(kinds) {
	case 0:
		return r.anything(in, at), true
	case 1:
		return r.typed(in, kinds[0], at), true
	default:
		var options []any
		for _, kind := range kinds {
			option := without(in, words...)
			option["type"] = kind
			options = append(options, option)
		}
		return r.union(annotations(in, at), options, at)
	}
}

// collect joins a schema with the target of its reference and with all parts of allOf.
func (r *rewriter) collect(in part, within []string) (_ part, _ []string, possible bool) {
	for range maxParts {
		ref, refers := in["$ref"].(string)
		all, several := in["allOf"].([]any)
		switch {
		case refers:
			in = without(in, "$ref")
			target, found := r.find(ref)
			stop := count(within, ref) >= maxUnrolled || r.parts > r.limit
			if definition, ok := target.(part); stop && ok { // deeper parts are left open
				if kinds := typesOf(definition); in["type"] == nil && len(kinds) == 1 {
					in = join(in, part{"type": kinds[0]})
				}
			} else if found && !stop {
				within = append(slices.Clip(within), ref)
				in, possible = joinAny(in, target)
				if !possible {
					return nil, nil, false
				}
			}
		case several:
			in = without(in, "allOf")
			for _, one := range all {
				other, isPart := one.(part)
				if nested := other["$ref"] != nil || other["allOf"] != nil; isPart && nested && r.parts <= 10*maxParts {
					r.parts++
					if one, within, possible = r.collect(other, within); !possible {
						return nil, nil, false
					}
				}
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
func (r *rewriter) typed(in part, kind string, at place) part {
	out := part{"type": kind}
	for _, word := range append([]string{"description"}, r.form.keywords...) {
		if value, ok := in[word]; ok && fits(word, kind, value) && at.depth+levels(value) <= maxDepth {
			out[word] = value
		}
	}
	if format, ok := out["format"].(string); ok && r.form.formats != nil && !slices.Contains(r.form.formats, format) {
		delete(out, "format")
	}
	r.list(in, kind, out)
	switch kind {
	case "object":
		return r.object(in, out, at)
	case "array":
		out["items"] = r.items(in, at)
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

// list writes the values of enum and const of the given type.
func (r *rewriter) list(in part, kind string, out part) {
	var listed []any
	known := map[string]bool{}
	for _, value := range listedIn(in) {
		if written := text(value); isKind(value, kind) && !known[written] {
			known[written] = true
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

// object writes the properties and which of them are required.
func (r *rewriter) object(in, out part, at place) part {
	properties := part{}
	known, _ := in["properties"].(part)
	impossible := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		property, possible := r.rewrite(known[name], at.in(2))
		if impossible[name] = !possible; possible {
			properties[name] = property
		}
	}
	var required []any
	needed := map[string]bool{}
	needs, _ := in["required"].([]any)
	for _, need := range needs {
		name, ok := need.(string)
		if !ok || impossible[name] || needed[name] {
			continue
		}
		needed[name] = true
		if required = append(required, need); properties[name] == nil {
			properties[name] = r.anything(part{}, at.in(2))
		}
	}
	delete(out, "additionalProperties")
	extra, open := in["additionalProperties"], true
	if patterns, ok := in["patternProperties"].(part); ok && len(patterns) > 0 && (extra == nil || extra == false) {
		extra = nil // with several patterns there is no common schema
		if len(patterns) == 1 {
			for _, extra = range patterns {
			}
		}
	}
	if slices.Contains(r.form.keywords, "additionalProperties") {
		if _, isPart := extra.(part); isPart {
			if extra, open = r.rewrite(extra, at.in(1)); !open {
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
		describe(out, "A JSON object, encoded as a string.")
		return out
	}
	if out["properties"] = properties; len(required) > 0 {
		out["required"] = required
	}
	return out
}

// items writes the schema of an array's items: one schema, even if the original's positions differ.
func (r *rewriter) items(in part, at place) part {
	places, tuple := in["prefixItems"].([]any)
	if rest, ok := in["items"].([]any); ok && !tuple {
		places, tuple = rest, true
	}
	if tuple && len(places) > 0 {
		if rest, ok := in["items"].(part); ok {
			places = append(slices.Clip(places), rest)
		}
		if out, possible := r.union(part{}, places, at.in(1)); possible {
			return out
		}
	}
	out, _ := r.rewrite(in["items"], at.in(1))
	if out == nil {
		out = r.anything(part{}, at.in(1))
	}
	return out
}

// anything writes a schema without a type.
func (r *rewriter) anything(in part, at place) part {
	out := annotations(in, at)
	maps.DeleteFunc(out, func(word string, _ any) bool { return word != "description" && !slices.Contains(r.form.keywords, word) })
	if r.form.typed {
		out["type"] = "string"
		describe(out, "Any JSON value, encoded as a string.")
	}
	return out
}

package outgoing

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// part is a schema in decoded JSON.
type part = map[string]any

// words are keywords that describe a schema without changing its meaning.
var words = []string{"title", "description", "default", "examples"}

// annotations returns the descriptive keywords of a schema.
func annotations(in part, at place) part {
	out := only(in, words...)
	for word, value := range out {
		if word != "default" && !fits(word, "", value) || at.depth+levels(value) > maxDepth {
			delete(out, word)
		}
	}
	return out
}

// levels returns the nesting depth of objects and arrays in a value.
func levels(value any) (n int) {
	switch value := value.(type) {
	case part:
		for _, one := range value {
			n = max(n, levels(one))
		}
		return n + 1
	case []any:
		for _, one := range value {
			n = max(n, levels(one))
		}
		return n + 1
	}
	return 0
}

func only(in part, keys ...string) part {
	out := part{}
	for _, key := range keys {
		if value, ok := in[key]; ok {
			out[key] = value
		}
	}
	return out
}

func without(in part, keys ...string) part {
	out := maps.Clone(in)
	for _, key := range keys {
		delete(out, key)
	}
	return out
}

func describing(in part) string {
	said, _ := in["description"].(string)
	return said
}

// describe adds a sentence to the description.
func describe(out part, said string) {
	out["description"] = strings.TrimSpace(describing(out) + "\n" + sentence(said))
}

// maxSentence limits a sentence that replaces part of a schema, in bytes. A description within the text of another
// schema has its quotes escaped, so unlimited nesting would double it with each level.
const maxSentence = 1_000

// sentence shortens a text that replaces part of a schema.
func sentence(said string) string { return clip.Text(said, maxSentence) }

// join returns a schema that accepts what both of two schemas accept. If there is no short form of it, the result
// accepts more. The descriptive keywords of the first are kept.
func join(a, b part) part {
	out := maps.Clone(b)
	for key, value := range a {
		other, both := b[key]
		switch {
		case !both, reflect.DeepEqual(value, other):
			out[key] = value
		case key == "properties":
			out[key] = joinProperties(value, other)
		case key == "required":
			x, _ := value.([]any)
			y, _ := other.([]any)
			out[key] = append(slices.Clip(x), y...)
		case key == "items":
			out[key] = part{"allOf": []any{value, other}}
		case key == "allOf":
			x, _ := value.([]any)
			y, _ := other.([]any)
			out[key] = append(slices.Clip(x), y...)
		case key == "additionalProperties" && value == false:
			out[key] = other
		case key == "additionalProperties" && other == false:
			out[key] = value
		default:
			out[key] = value
		}
	}
	if out["additionalProperties"] == false && (a["properties"] == nil) == (b["properties"] == nil) {
		delete(out, "additionalProperties") // it referred to the properties of only one of them
	}
	return out
}

func joinProperties(a, b any) any {
	x, isPart := a.(part)
	y, both := b.(part)
	if !isPart || !both {
		return a
	}
	out := maps.Clone(y)
	for name, property := range x {
		if other, both := y[name]; both && !reflect.DeepEqual(property, other) {
			property = part{"allOf": []any{property, other}}
		}
		out[name] = property
	}
	return out
}

// joinAny joins a schema with one that may be true or false; possible is false if no value matches both.
func joinAny(in part, value any) (_ part, possible bool) {
	other, isPart := value.(part)
	if !isPart {
		return in, value != false
	}
	kinds, others := typesOf(in), typesOf(other)
	out := join(in, other)
	if len(kinds) == 0 || len(others) == 0 {
		return out, true
	}
	var common []any
	for _, kind := range kinds {
		switch {
		case slices.Contains(others, kind):
			common = append(common, kind)
		case kind == "number" && slices.Contains(others, "integer"), kind == "integer" && slices.Contains(others, "number"):
			common = append(common, "integer")
		}
	}
	out["type"] = any(common)
	return out, len(common) > 0
}

// aliases are names of types that tool servers use but JSON Schema does not have.
var aliases = map[string]string{
	"int": "integer", "long": "integer", "float": "number", "double": "number", "decimal": "number", "bool": "boolean", "str": "string",
	"text": "string", "date": "string", "dict": "object", "map": "object", "list": "array", "tuple": "array",
}

var kinds = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// implied are the types that keywords imply.
var implied = map[string]string{
	"properties": "object", "additionalProperties": "object", "patternProperties": "object", "required": "object",
	"items": "array", "prefixItems": "array", "minItems": "array", "maxItems": "array",
	"pattern": "string", "minLength": "string", "maxLength": "string",
	"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
}

// typesOf returns the types of a schema, each once: those that it names, or else those of its values or implied by its
// keywords. None means any type.
func typesOf(in part) (out []string) {
	named, _ := in["type"].([]any)
	if one, ok := in["type"].(string); ok {
		named = []any{one}
	}
	add := func(kind string) {
		if !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	for _, name := range named {
		kind, _ := name.(string)
		kind = strings.ToLower(kind)
		if alias, ok := aliases[kind]; ok {
			kind = alias
		}
		if !slices.Contains(kinds, kind) {
			return nil // such as "any"
		}
		add(kind)
	}
	listed := listedIn(in)
	if len(out) > 0 && len(listed) > 0 {
		out = slices.DeleteFunc(out, func(kind string) bool {
			return !slices.ContainsFunc(listed, func(value any) bool { return isKind(value, kind) })
		})
	}
	if len(out) > 0 || len(named) > 0 {
		return out
	}
	for _, value := range listed {
		add(kindOf(value))
	}
	if len(listed) > 0 {
		return out
	}
	for _, key := range slices.Sorted(maps.Keys(implied)) {
		if _, ok := in[key]; ok && (len(out) == 0 || out[0] == implied[key]) {
			add(implied[key])
		} else if ok {
			return nil // it implies several types
		}
	}
	return out
}

// listedIn returns the values of enum, or the value of const.
func listedIn(in part) []any {
	if value, ok := in["const"]; ok {
		return []any{value}
	}
	values, _ := in["enum"].([]any)
	return values
}

func kindOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return "number"
		}
		return "integer"
	}
	return "object"
}

func isKind(value any, kind string) bool {
	is := kindOf(value)
	return is == kind || is == "integer" && kind == "number"
}

// enumOf returns one list of values for options that are lists of values of one type. It returns nil if any option is
// not such a list.
func enumOf(options []any) part {
	out := part{}
	var values []any
	known := map[string]bool{}
	for _, option := range options {
		one := option.(part)
		listed, _ := one["enum"].([]any)
		if len(listed) == 0 || out["type"] != nil && out["type"] != one["type"] {
			return nil
		}
		out["type"] = one["type"]
		for _, value := range listed {
			if written := text(value); !known[written] {
				known[written] = true
				values = append(values, value)
			}
		}
		if said := describing(one); said != "" {
			describe(out, strings.Trim(text(listed), "[]")+": "+said)
		}
	}
	out["enum"] = values
	return out
}

// applies maps keywords to the types that they apply to. Other keywords apply to all types.
var applies = map[string][]string{
	"format": {"string", "integer", "number"}, "pattern": {"string"}, "minLength": {"string"}, "maxLength": {"string"},
	"minItems": {"array"}, "maxItems": {"array"}, "uniqueItems": {"array"}, "minProperties": {"object"}, "maxProperties": {"object"},
	"minimum": {"integer", "number"}, "maximum": {"integer", "number"}, "exclusiveMinimum": {"integer", "number"},
	"exclusiveMaximum": {"integer", "number"}, "multipleOf": {"integer", "number"}, "additionalProperties": {},
}

// fits reports whether a schema of the type may have a keyword with this value.
func fits(word, kind string, value any) bool {
	if about, limited := applies[word]; limited && !slices.Contains(about, kind) {
		return false
	}
	switch word {
	case "title", "description", "format":
		_, ok := value.(string)
		return ok
	case "pattern":
		pattern, ok := value.(string)
		_, err := regexp.Compile(pattern)
		return ok && err == nil
	case "default":
		return isKind(value, kind)
	case "examples":
		_, ok := value.([]any)
		return ok
	case "uniqueItems", "nullable":
		_, ok := value.(bool)
		return ok
	}
	number, ok := value.(json.Number)
	amount, err := strconv.ParseFloat(number.String(), 64)
	switch word {
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return ok && err == nil
	case "multipleOf":
		return ok && err == nil && amount > 0
	}
	_, err = strconv.ParseUint(number.String(), 10, 31) // a length or a count
	return ok && err == nil
}

// bounds rewrites the exclusive limits of JSON Schema version 4: a minimum with "exclusiveMinimum": true.
func bounds(in, out part) {
	// any order: the two limits are independent
	for word, exclusive := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		if in[exclusive] == true && out[word] != nil {
			out[exclusive] = out[word]
			delete(out, word)
		}
	}
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// names joins the strings among some values into one text.
func names(values []any) string {
	var all []string
	for _, value := range values {
		if name, ok := value.(string); ok {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// decode parses JSON and keeps all digits of numbers.
func decode(text string) (value any, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, errors.New("more than one value")
	}
	return value, nil
}

// text writes a value as JSON, with sorted keys.
func text(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // cannot fail: it was JSON
	return strings.TrimSpace(out.String())
}

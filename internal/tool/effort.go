package tool

import (
	"encoding/json"
	"errors"
)

// maxEffort limits the effort of checking arguments, in steps. A step applies one schema to one value, in up to 5 µs.
const maxEffort = 200_000

var errEffort = errors.New("they take too much work to check against the tool's schema")

// maxNested limits how many schemas are followed for one value. A circular chain of references is not a schema, which
// the library detects.
const maxNested = 1000

// effort counts the maximum number of steps that checking a value takes, over all schemas that may apply. The library
// that checks cannot be stopped, and a schema that refers to itself twice doubles the work with every level of the
// arguments.
type effort struct {
	refs     references
	left     int
	patterns map[string]int // their sizes
}

// affordable reports whether checking a value takes at most maxEffort.
func affordable(refs references, value any) bool {
	e := effort{refs: refs, left: maxEffort, patterns: map[string]int{}}
	e.spend(refs.root, value, 0)
	return e.left >= 0
}

func (e *effort) spend(schema, value any, nested int) {
	object, ok := schema.(map[string]any)
	if e.left--; !ok || e.left < 0 || nested > maxNested {
		return
	}
	e.left -= length(value)/64 + len(object)/16
	e.inPlace(object, value, nested+1)
	switch value := value.(type) {
	case map[string]any:
		e.properties(object, value)
	case []any:
		e.items(object, value)
	case string:
		pattern, _ := object["pattern"].(string)
		e.match(pattern, value)
	}
}

// inPlace counts the schemas that apply to the value itself.
func (e *effort) inPlace(object map[string]any, value any, nested int) {
	for key, part := range object {
		switch key {
		case "$ref", "$dynamicRef", "$recursiveRef":
			ref, _ := part.(string)
			e.spend(e.refs.known[ref], value, nested) // all are known since the schema was compiled
		case "allOf", "anyOf", "oneOf":
			parts, _ := part.([]any)
			for _, part := range parts {
				e.spend(part, value, nested)
			}
		case "not", "if", "then", "else":
			e.spend(part, value, nested)
		case "dependentSchemas", "dependencies":
			parts, _ := part.(map[string]any)
			for _, part := range parts {
				e.spend(part, value, nested)
			}
		case "enum":
			values, _ := part.([]any)
			e.left -= len(values)
		}
	}
}

func (e *effort) properties(object, value map[string]any) {
	named, _ := object["properties"].(map[string]any)
	patterns, _ := object["patternProperties"].(map[string]any)
	for name, item := range value {
		if schema, ok := named[name]; ok {
			e.spend(schema, item, 0)
		}
		for pattern, schema := range patterns {
			e.match(pattern, name)
			e.spend(schema, item, 0)
		}
		for _, key := range []string{"additionalProperties", "unevaluatedProperties"} {
			e.spend(object[key], item, 0)
		}
		e.spend(object["propertyNames"], name, 0)
	}
}

func (e *effort) items(object map[string]any, value []any) {
	for n, item := range value {
		for _, key := range []string{"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"} {
			if schemas, several := object[key].([]any); several && n < len(schemas) {
				e.spend(schemas[n], item, 0)
				continue
			}
			e.spend(object[key], item, 0)
		}
	}
}

func (e *effort) match(pattern, text string) {
	size, known := e.patterns[pattern]
	if !known {
		size = patternSize(pattern)
		e.patterns[pattern] = size
	}
	e.left -= len(text) * size / 256
}

func length(value any) int {
	switch value := value.(type) {
	case string:
		return len(value)
	case json.Number:
		return len(value)
	}
	return 0
}

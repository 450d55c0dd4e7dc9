package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// usable is a schema that arguments can be checked against.
type usable struct {
	refs     references
	compiled *jsonschema.Schema
}

// schema returns the compiled schema, or nil if it cannot be used.
func (v *Validator) schema(schema json.RawMessage) *usable {
	if len(schema) == 0 {
		return nil
	}
	key := sha256.Sum256(schema)
	v.mu.Lock()
	defer v.mu.Unlock()
	compiled, ok := v.compiled[key]
	if !ok {
		if len(v.compiled) >= maxCompiled {
			clear(v.compiled) // rare, and compiling again is cheaper than tracking use
		}
		compiled, _ = compile(schema) // nil if it cannot be used
		v.compiled[key] = compiled
	}
	return compiled
}

// CheckSchema returns why a JSON schema cannot be used: it is invalid, exceeds a limit, refers to another document, or
// has a pattern that Go does not support. A Validator accepts all arguments for such a schema.
func CheckSchema(schema json.RawMessage) error {
	_, err := compile(schema)
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		err = invalid.Err
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return violated(invalid)
	}
	if outside, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return outside.Err
	}
	if err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), schemaURL, ""))
	}
	return nil
}

// compile returns nil and the reason for a schema that cannot be used.
func compile(schema json.RawMessage) (_ *usable, err error) {
	// The schema comes from a third party, and the compiler may panic.
	defer func() {
		if recover() != nil {
			err = errors.New("it cannot be compiled")
		}
	}()
	if err := CheckBounds(schema); err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(schemaURL)
	refs := referencesOf(document)
	if err == nil {
		err = selfContained(refs)
	}
	if err != nil {
		return nil, err
	}
	return &usable{refs, compiled}, nil
}

// schemaURL names the schema for the compiler; nothing is ever loaded from it.
const schemaURL = "inquest:///arguments.json"

// noLoader prevents a server's schema from reading files or opening URLs.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to another document: %s", url)
}

// MapProse rewrites the descriptive texts of a schema, and none of its requirements.
func MapProse(schema json.RawMessage, rewrite func(string) string) json.RawMessage {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil || !mapProse(document, rewrite, false) {
		return schema
	}
	text, err := compact(document)
	if err != nil {
		return schema
	}
	return text
}

// mapProse rewrites a part of a schema. named means that the part's keys are names.
func mapProse(part any, rewrite func(string) string, named bool) (changed bool) {
	switch part := part.(type) {
	case []any:
		for _, item := range part {
			changed = mapProse(item, rewrite, false) || changed
		}
	case map[string]any:
		// any order: the parts are rewritten independently, and changed only becomes true
		for key, item := range part {
			text, isText := item.(string)
			if isText && (key == "description" || key == "title" || key == "$comment") {
				part[key] = rewrite(text)
				changed = changed || part[key] != text
			}
			if !named && (key == "default" || key == "examples") {
				part[key] = mapTexts(item, rewrite, &changed)
				continue
			}
			names := !named && slices.Contains([]string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}, key)
			changed = mapProse(item, rewrite, names) || changed
		}
	}
	return changed
}

// mapTexts rewrites the strings in a value, such as an example.
func mapTexts(value any, rewrite func(string) string, changed *bool) any {
	switch value := value.(type) {
	case string:
		text := rewrite(value)
		*changed = *changed || text != value
		return text
	case []any:
		for n, item := range value {
			value[n] = mapTexts(item, rewrite, changed)
		}
	case map[string]any:
		for key, item := range value {
			value[key] = mapTexts(item, rewrite, changed)
		}
	}
	return value
}

// maxViolations limits how many violations the model is told at once.
const maxViolations = 10

// check returns the violations of the schema. A panic of the library counts as a schema that cannot be used.
func check(schema *usable, object map[string]any) (err error) {
	if !affordable(schema.refs, object) {
		return errEffort
	}
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	invalid, ok := errors.AsType[*jsonschema.ValidationError](schema.compiled.Validate(object))
	if !ok {
		return nil
	}
	return violated(invalid)
}

// violated returns all violations in one line, or nil if the schema is not usable.
func violated(invalid *jsonschema.ValidationError) error {
	lines, usable := violations(invalid, nil)
	if !usable {
		return nil
	}
	if len(lines) > maxViolations {
		lines = append(lines[:maxViolations], fmt.Sprintf("and %d more", len(lines)-maxViolations))
	}
	return errors.New(strings.Join(lines, "; "))
}

// maxViolation limits the text of one violation, in bytes.
const maxViolation = 300

// violations lists the leaves of an error, which have the details. A schema that only refers to itself is not usable.
func violations(err *jsonschema.ValidationError, lines []string) (_ []string, usable bool) {
	if _, circular := err.ErrorKind.(*kind.RefCycle); circular {
		return nil, false
	}
	if len(err.Causes) == 0 {
		text := "" // for violations beyond the limit
		if len(lines) < maxViolations {
			text = clip.Bytes(ValidText(err.Error()), maxViolation)
		}
		return append(lines, text), true
	}
	for _, cause := range err.Causes {
		if lines, usable = violations(cause, lines); !usable {
			return nil, false
		}
	}
	return lines, true
}

package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schema returns the compiled schema; nil if it cannot be used.
func (v *Validator) schema(schema json.RawMessage) *jsonschema.Schema {
	if len(schema) == 0 {
		return nil
	}
	key := sha256.Sum256(schema)
	v.mu.Lock()
	defer v.mu.Unlock()
	compiled, ok := v.compiled[key]
	if !ok {
		if len(v.compiled) >= maxCompiled {
			clear(v.compiled) // rare, and compiling again costs less than keeping order
		}
		compiled = compile(schema)
		v.compiled[key] = compiled
	}
	return compiled
}

// compile returns nil for a schema that cannot be used.
func compile(schema json.RawMessage) (compiled *jsonschema.Schema) {
	// The schema is a stranger's and the compiler has panics of its own.
	defer func() {
		if recover() != nil {
			compiled = nil
		}
	}()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil
	}
	compiled, err = compiler.Compile(schemaURL)
	if err != nil {
		return nil
	}
	return compiled
}

// schemaURL names the schema to the compiler; nothing is ever loaded from it.
const schemaURL = "inquest:///arguments.json"

// noLoader keeps a server's schema from making us read files or open URLs.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema refers to another document: %s", url)
}

// maxViolations bounds how many of them the model is told at once.
const maxViolations = 10

// check says what violates the schema. A panic of the library is the schema's
// fault, and counts as a schema that cannot be used.
func check(schema *jsonschema.Schema, object map[string]any) (err error) {
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	invalid, ok := errors.AsType[*jsonschema.ValidationError](schema.Validate(object))
	if !ok {
		return nil
	}
	lines, usable := violations(invalid, nil)
	if !usable {
		return nil
	}
	if len(lines) > maxViolations {
		lines = append(lines[:maxViolations], fmt.Sprintf("and %d more", len(lines)-maxViolations))
	}
	return errors.New(strings.Join(lines, "; "))
}

// maxViolation bounds the text of one violation, in bytes.
const maxViolation = 300

// violations lists the leaves of an error: the parts that say something. A
// schema that refers to nothing but itself is not usable.
func violations(err *jsonschema.ValidationError, lines []string) (_ []string, usable bool) {
	if _, circular := err.ErrorKind.(*kind.RefCycle); circular {
		return nil, false
	}
	if len(err.Causes) == 0 {
		return append(lines, Clip(ValidText(err.Error()), maxViolation)), true
	}
	for _, cause := range err.Causes {
		if lines, usable = violations(cause, lines); !usable {
			return nil, false
		}
	}
	return lines, true
}

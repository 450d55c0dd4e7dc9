package tool

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// Validator checks the arguments of calls against the schemas of tools, and caches compiled schemas. It is safe for
// concurrent use.
type Validator struct {
	mu       sync.Mutex
	compiled map[[sha256.Size]byte]*usable // nil for a schema that cannot be used
}

// maxCompiled limits the cache of a validator, in schemas.
const maxCompiled = 1000

// NewValidator returns a validator with an empty cache.
func NewValidator() *Validator {
	return &Validator{compiled: map[[sha256.Size]byte]*usable{}}
}

// check returns how the arguments violate the schema. A schema that cannot be compiled (it is broken, refers to another
// document, or has a pattern that Go does not support) accepts all arguments: the server checks them itself, while
// refusing would disable a tool that works.
func (v *Validator) check(schema json.RawMessage, object map[string]any) error {
	if err := v.Violations(schema, object); err != nil {
		return fmt.Errorf("arguments do not match the tool's schema: %w", err)
	}
	return nil
}

// Violations returns how an object violates a schema. It returns nil for a schema that cannot be compiled. Numbers in
// the object are json.Number.
func (v *Validator) Violations(schema json.RawMessage, object map[string]any) error {
	if compiled := v.schema(schema); compiled != nil {
		return check(compiled, object)
	}
	return nil
}

// maxArguments limits a model's arguments for a call, in bytes: several times the longest reply.
const maxArguments = 1 << 20

// parseArguments decodes a model's arguments. Empty text and null give an empty object. Arguments that the model has
// encoded twice are decoded twice.
func parseArguments(args string) (map[string]any, error) {
	if len(args) > maxArguments {
		return nil, fmt.Errorf("arguments are longer than %d KB", maxArguments>>10)
	}
	args = cmp.Or(strings.TrimSpace(ValidText(args)), "{}")
	if object, ok := agent.ArgumentsObject(args); ok {
		args = object
	}
	if tooDeep(args) {
		return nil, fmt.Errorf("arguments are nested deeper than %d levels", maxDepth)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
	if err != nil {
		return nil, syntaxError(args, err)
	}
	if key, twice := repeated(json.NewDecoder(strings.NewReader(args))); twice {
		return nil, fmt.Errorf("arguments have the key %q twice in one object", clip.Bytes(key, maxNameShown))
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("arguments must be a JSON object, not %s: %q", kindOf(value), clip.Bytes(args, maxNameShown))
	}
	if at, found := outOfRange(object); found {
		return nil, fmt.Errorf("arguments: the number at '%s' is out of range", clip.Bytes(at, maxNameShown))
	}
	return object, nil
}

// repeated finds a duplicate key of an object in valid JSON. A person might be shown one of its values while the server
// uses the other.
func repeated(decoder *json.Decoder) (key string, twice bool) {
	open, err := decoder.Token()
	if delim, ok := open.(json.Delim); err != nil || !ok || delim != '{' && delim != '[' {
		return "", false
	}
	seen := map[string]bool{}
	for decoder.More() {
		if open == json.Delim('{') {
			token, _ := decoder.Token()
			key, _ := token.(string)
			if seen[key] {
				return key, true
			}
			seen[key] = true
		}
		if key, twice := repeated(decoder); twice {
			return key, true
		}
	}
	_, _ = decoder.Token()
	return "", false
}

// canonical encodes arguments in the form that is compared, shown and sent: keys sorted, no white space, each number as
// the model wrote it.
func canonical(object map[string]any) (json.RawMessage, error) {
	text, err := compact(object)
	if err != nil {
		return nil, fmt.Errorf("arguments cannot be written as JSON: %w", err)
	}
	return text, nil
}

// Canonical returns arguments in the form of a call without limits. The error is a *Refusal.
func Canonical(arguments string) (json.RawMessage, error) {
	args, err := parseArguments(arguments)
	if err == nil {
		var text json.RawMessage
		if text, err = canonical(args); err == nil {
			return text, nil
		}
	}
	return nil, &Refusal{ErrorInvalidArguments, err.Error()}
}

// Spelled returns arguments in one spelling, to compare calls: canonical, or as they are if they are not a JSON object.
func Spelled(arguments string) string {
	if text, err := Canonical(arguments); err == nil {
		return string(text)
	}
	return arguments
}

// compact encodes a value as JSON, without HTML escapes.
func compact(value any) (json.RawMessage, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(text.Bytes()), err
}

// syntaxError says where the text stops being valid JSON.
func syntaxError(args string, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		end := min(max(0, int(syntax.Offset)), len(args))
		near := strings.ToValidUTF8(args[max(0, end-30):end], "")
		return fmt.Errorf("arguments are not valid JSON: %w at byte %d, after %q", err, end, near)
	}
	return fmt.Errorf("arguments are not valid JSON: %w (%d bytes)", err, len(args))
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	}
	return "a number"
}

// maxExponent is larger than any float's exponent. The checks below compute with exact fractions, which a number like
// 1e-999999 would make enormous.
const maxExponent = 400

// outOfRange finds a number that is too large for a float, which most servers use, or too small to compute with.
func outOfRange(value any) (at string, found bool) {
	switch value := value.(type) {
	case json.Number:
		_, exponent, ok := strings.Cut(strings.ToLower(value.String()), "e")
		n, err := strconv.Atoi(exponent)
		if ok && (err != nil || n > maxExponent || n < -maxExponent) {
			return "", true
		}
		_, err = strconv.ParseFloat(value.String(), 64)
		return "", err != nil
	case []any:
		for i, item := range value {
			if at, found := outOfRange(item); found {
				return fmt.Sprintf("/%d%s", i, at), true
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if at, found := outOfRange(value[name]); found {
				return "/" + name + at, true
			}
		}
	}
	return "", false
}

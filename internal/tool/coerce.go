package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// maxCoercions limits how often the arguments of a call are changed and validated again.
const maxCoercions = 8

// coerce changes arguments that violate the schema only by their form: "5" for 5, an object that was encoded twice, a
// single value instead of a list. It changes nothing unless the result is valid, and nothing that is valid. notes
// describe the changes to the model.
func (v *Validator) coerce(schema json.RawMessage, object map[string]any) (_ map[string]any, notes []string) {
	compiled := v.schema(schema)
	if compiled == nil {
		return object, nil
	}
	invalid := violation(compiled, object)
	if invalid == nil {
		return object, nil
	}
	work := copied(object).(map[string]any)
	for range maxCoercions {
		wants := map[string]*want{}
		collect(invalid, wants)
		changed := false
		for _, at := range slices.Sorted(maps.Keys(wants)) {
			w := wants[at]
			respelled, ok := w.respell(lookUp(work, w.path))
			if !ok {
				continue
			}
			replace(work, w.path, respelled)
			changed = true
			notes = append(notes, fmt.Sprintf("%s as %s", clip.Bytes(ValidText(strings.Join(w.path, ".")), maxNameShown), kindOf(respelled)))
		}
		if _, outside := outOfRange(work); !changed || outside {
			return object, nil
		}
		if invalid = violation(compiled, work); invalid == nil {
			return work, notes
		}
	}
	return object, nil
}

// violation returns how an object violates a schema. Nil means that it is valid, or that the schema cannot be checked.
func violation(schema *usable, object map[string]any) *jsonschema.ValidationError {
	if !affordable(schema.refs, object) {
		return nil
	}
	defer func() { _ = recover() }() // the schema's fault: see check
	invalid, _ := errors.AsType[*jsonschema.ValidationError](schema.compiled.Validate(object))
	return invalid
}

// want describes a schema's requirements at one place.
type want struct {
	path  []string
	types []string
	enum  []any
}

// collect gathers the requirements at the leaves of a violation, by place.
func collect(invalid *jsonschema.ValidationError, wants map[string]*want) {
	for _, cause := range invalid.Causes {
		collect(cause, wants)
	}
	if len(invalid.Causes) > 0 || len(invalid.InstanceLocation) == 0 {
		return
	}
	key := strings.Join(invalid.InstanceLocation, "\x00")
	w := wants[key]
	if w == nil {
		w = &want{path: invalid.InstanceLocation}
		wants[key] = w
	}
	switch k := invalid.ErrorKind.(type) {
	case *kind.Type:
		w.types = append(w.types, k.Want...)
	case *kind.Enum:
		w.enum = append(w.enum, k.Want...)
	case *kind.Const:
		w.enum = append(w.enum, k.Want)
	}
}

var (
	wholeNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)$`)
	anyNumber   = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)
)

// respell returns the value in the required form, if there is an exact one.
func (w *want) respell(value any) (any, bool) {
	asks := func(types ...string) bool {
		return slices.ContainsFunc(types, func(t string) bool { return slices.Contains(w.types, t) })
	}
	text, isText := value.(string)
	scalar := scalarText(value)
	for _, one := range w.enum {
		if _, text := one.(string); text != isText && scalar != "" && scalarText(one) == scalar {
			return one, true
		}
	}
	switch {
	case value == nil:
		return nil, false
	case isText && (asks("number") && anyNumber.MatchString(text) || asks("integer") && wholeNumber.MatchString(text)):
		return json.Number(text), true
	case isText && asks("boolean") && (text == "true" || text == "True"):
		return true, true
	case isText && asks("boolean") && (text == "false" || text == "False"):
		return false, true
	case isText && asks("array", "object"):
		if decoded, ok := encodedTwice(text); ok {
			_, list := decoded.([]any)
			return decoded, list && asks("array") || !list && asks("object")
		}
		one := strings.TrimSpace(text)
		return []any{value}, asks("array") && one != "" && !strings.ContainsAny(one, ",;\n[]{}")
	case !isText && asks("string") && scalar != "":
		return scalar, true
	case asks("array"):
		_, list := value.([]any)
		return []any{value}, !list
	}
	return nil, false
}

// scalarText returns a string, a number or a boolean as text. It is empty for any other value.
func scalarText(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	case bool:
		return strconv.FormatBool(value)
	}
	return ""
}

// encodedTwice decodes a list or an object that was written as a string.
func encodedTwice(text string) (decoded any, ok bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "{") || tooDeep(text) {
		return nil, false
	}
	decoded, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, false
	}
	_, twice := repeated(json.NewDecoder(strings.NewReader(text)))
	return decoded, !twice
}

// copied returns a deep copy of a value.
func copied(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, item := range value {
			out[key] = copied(item)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for n, item := range value {
			out[n] = copied(item)
		}
		return out
	}
	return value
}

// lookUp returns the value at a place, or nil.
func lookUp(value any, path []string) any {
	for _, step := range path {
		switch part := value.(type) {
		case map[string]any:
			value = part[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(part) {
				return nil
			}
			value = part[n]
		default:
			return nil
		}
	}
	return value
}

// replace sets the value at an existing place.
func replace(root any, path []string, value any) {
	last := len(path) - 1
	switch parent := lookUp(root, path[:last]).(type) {
	case map[string]any:
		parent[path[last]] = value
	case []any:
		if n, err := strconv.Atoi(path[last]); err == nil {
			parent[n] = value
		}
	}
}

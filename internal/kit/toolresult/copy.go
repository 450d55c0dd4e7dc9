package toolresult

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// maxDepth is the maximum nesting depth of values, the same as in encoding/json. It also ends a walk through a map that contains
// itself.
const maxDepth = 10_000

var errTooDeep = errors.New("tool result is nested too deeply, or contains itself")

// copy returns a deep copy of r that can be encoded as JSON.
func (r Result) copy() (Result, error) {
	data, err := copyMap(r.Data, 0)
	if err != nil {
		return Result{}, err
	}
	r.Data = data
	if r.Error == nil {
		return r, nil
	}
	own := *r.Error
	if own.Details, err = copyMap(own.Details, 0); err != nil {
		return Result{}, err
	}
	r.Error = &own
	return r, nil
}

func copyMap(m map[string]any, depth int) (map[string]any, error) {
	if m == nil {
		return nil, nil
	}
	out := make(map[string]any, len(m))
	for key, value := range m {
		var err error
		if out[key], err = copyValue(value, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func copySlice[T, U any](s []T, copyOne func(T) (U, error)) ([]U, error) {
	if s == nil {
		return nil, nil
	}
	out := make([]U, len(s))
	for i, value := range s {
		var err error
		if out[i], err = copyOne(value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// copyValue keeps the types of JSON values and of common maps and slices. It converts other values through their JSON.
func copyValue(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	switch v := v.(type) {
	case nil, bool, string, int, int64:
		return v, nil
	case float64:
		return finite(v), nil
	case json.Number:
		return literal(v), nil
	case map[string]any:
		return copyMap(v, depth)
	case []any:
		return copySlice(v, func(one any) (any, error) { return copyValue(one, depth+1) })
	case []map[string]any:
		return copySlice(v, func(one map[string]any) (map[string]any, error) { return copyMap(one, depth+1) })
	case []string:
		return slices.Clone(v), nil
	case map[string]string:
		return maps.Clone(v), nil
	case *Error:
		return copyJSON(v, depth)
	case error:
		return fmt.Sprint(v), nil // Sprint survives an Error method that panics
	}
	return copyJSON(v, depth)
}

// finite returns text for numbers that JSON does not have.
func finite(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Sprint(f)
	}
	return f
}

// literal returns the number, or its text if it is not a valid number.
func literal(n json.Number) any {
	if _, err := json.Marshal(n); err != nil {
		return string(n)
	}
	return n
}

// copyJSON converts a value through its JSON, or returns the name of its type if it has none.
func copyJSON(v any, depth int) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("(%T)", v), nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, errTooDeep // JSON of our own has no other errors
	}
	return copyValue(plain, depth)
}

// Package walk visits the parts of decoded JSON values.
package walk

import "slices"

// Texts calls fn with each text in a value: at any depth, but neither with keys nor with what is below the keys to skip. The members of
// an object come in any order.
func Texts(value any, fn func(text string), skip ...string) {
	switch value := value.(type) {
	case string:
		fn(value)
	case []any:
		for _, one := range value {
			Texts(one, fn, skip...)
		}
	case map[string]any:
		for key, one := range value {
			if !slices.Contains(skip, key) {
				Texts(one, fn, skip...)
			}
		}
	}
}

// Replaced returns a value in which fn has replaced each text, except for keys. The value itself stays as it is.
func Replaced(value any, fn func(text string) string) any {
	switch value := value.(type) {
	case string:
		return fn(value)
	case []any:
		out := make([]any, len(value))
		for n, one := range value {
			out[n] = Replaced(one, fn)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, one := range value { // any order: keys differ
			out[key] = Replaced(one, fn)
		}
		return out
	}
	return value
}

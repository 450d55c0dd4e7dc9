package route

import (
	"bytes"
	"encoding/json"
	"math/big"
)

// Equal reports whether two texts are the same JSON value: 1 is 1.0, and maps
// and lists compare deeply. What is not JSON equals nothing.
func Equal(a, b json.RawMessage) bool {
	x, errA := decode(a)
	y, errB := decode(b)
	return errA == nil && errB == nil && same(x, y)
}

func decode(raw json.RawMessage) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

func same(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && sameNumber(x.String(), y.String())
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, value := range x {
			other, there := y[key]
			if !there || !same(value, other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !same(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// sameNumber compares exactly. A number with a monstrous exponent is compared as
// text: nobody can write it out.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	const longest = 64
	if len(a) > longest || len(b) > longest || monstrous(a) || monstrous(b) {
		return false
	}
	x, okA := new(big.Rat).SetString(a)
	y, okB := new(big.Rat).SetString(b)
	return okA && okB && x.Cmp(y) == 0
}

// monstrous reports whether the exponent has more than three digits.
func monstrous(number string) bool {
	i := bytes.IndexAny([]byte(number), "eE")
	return i >= 0 && len(bytes.TrimLeft([]byte(number[i+1:]), "+-0")) > 3
}

package route

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
)

// Equal reports whether two texts are the same JSON value: 1 equals 1.0, and objects and lists are compared deeply.
// Invalid JSON equals nothing.
func Equal(a, b json.RawMessage) bool {
	x, errA := decode(a)
	y, errB := decode(b)
	return errA == nil && errB == nil && reflect.DeepEqual(plain(x), plain(y))
}

func decode(raw json.RawMessage) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// plain writes every number in a value in one exact form. A number with a monstrous exponent is left unchanged, because
// it is too long to write out.
func plain(value any) any {
	switch value := value.(type) {
	case json.Number:
		const longest = 64
		if len(value) > longest || monstrous(value.String()) {
			return value
		}
		if exact, ok := new(big.Rat).SetString(value.String()); ok {
			return json.Number(exact.String())
		}
	case map[string]any:
		for key := range value {
			value[key] = plain(value[key])
		}
	case []any:
		for i := range value {
			value[i] = plain(value[i])
		}
	}
	return value
}

// monstrous reports whether the exponent has more than three digits.
func monstrous(number string) bool {
	i := bytes.IndexAny([]byte(number), "eE")
	return i >= 0 && len(bytes.TrimLeft([]byte(number[i+1:]), "+-0")) > 3
}

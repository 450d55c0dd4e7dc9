package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// encode is json.Marshal without HTML escapes.
func encode(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// decode keeps the digits of numbers.
func decode(data []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return value, trailing(decoder)
}

// trailing is an error if text follows the decoder's first value.
func trailing(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("text after the JSON value")
	}
	return nil
}

// equal reports whether two decoded values are the same JSON: 1 equals 1.0, and 9007199254740993 does not equal
// 9007199254740992.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || canonical(a.String()) == canonical(b.String()))
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	return a == b
}

// canonical writes equal numbers in the same form: digits without zeros at either end, and an exponent. It does not
// expand the exponent, which may be huge.
func canonical(number string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	power := new(big.Int)
	const longest = 100 // digits: longer ones take too long to read, and no two of them are equal unless they are written the same
	if len(exponent) > longest {
		return number
	}
	if exponent != "" {
		if _, ok := power.SetString(exponent, 10); !ok {
			return number
		}
	}
	significant := strings.TrimRight(digits, "0")
	power.Add(power, big.NewInt(int64(len(digits)-len(significant)-len(fraction))))
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign = "-"
	}
	return sign + significant + "e" + power.String()
}

// members returns the members of a JSON object that may be broken, such as one with a value NaN or one that was cut. Values need not
// be JSON.
func members(text []byte) map[string]json.RawMessage {
	found, name, begin, depth := map[string]json.RawMessage{}, "", 0, 0
	end := func(at int) {
		if value := bytes.TrimSpace(text[begin:at]); name != "" && len(value) > 0 {
			found[name] = bytes.Clone(value)
		}
		name, begin = "", at+1
	}
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return found
	}
	for at := 0; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			for at++; at < len(text) && text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
		case c == '{', c == '[':
			if depth++; depth == 1 {
				begin = at + 1
			}
		case c == '}', c == ']':
			if depth--; depth == 0 {
				end(at)
				return found
			}
		case depth == 1 && c == ',':
			end(at)
		case depth == 1 && c == ':' && name == "":
			_ = json.Unmarshal(text[begin:at], &name) // anything but a text is no name
			begin = at + 1
		}
	}
	if cut := bytes.TrimSpace(text[begin:]); len(cut) > 0 && bytes.ContainsAny(cut[:1], `{["`) {
		end(len(text)) // a number may lack digits
	}
	return found
}

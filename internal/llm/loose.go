package llm

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// The types below decode bookkeeping: counts, ids, indexes, details. Servers write these in many ways, and none of them
// may make a complete answer unreadable, so their UnmarshalJSON never fails.

// Count is a non-negative number. It decodes numbers in any notation, also as strings. Any other value is zero.
type Count int

// UnmarshalJSON implements json.Unmarshaler.
func (c *Count) UnmarshalJSON(data []byte) error {
	number, ok := looseNumber(data)
	if ok && number > 0 {
		*c = Count(math.Min(number, 1<<53))
	} else {
		*c = 0
	}
	return nil
}

// Index is a position that a server may omit. It decodes whole numbers, also as strings. For any other value Known is
// false.
type Index struct {
	N     int
	Known bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *Index) UnmarshalJSON(data []byte) error {
	number, ok := looseNumber(data)
	*i = Index{}
	if ok && number == math.Trunc(number) && math.Abs(number) <= 1<<53 {
		*i = Index{N: int(number), Known: true}
	}
	return nil
}

// looseNumber decodes a JSON number, or a string that contains one.
func looseNumber(data []byte) (float64, bool) {
	text := strings.TrimSpace(strings.Trim(string(data), `"`))
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil && !math.IsNaN(number) && !math.IsInf(number, 0)
}

// Word is an id or a name. It decodes a string, and a number or a boolean as written. Any other value is empty.
type Word string

// UnmarshalJSON implements json.Unmarshaler.
func (w *Word) UnmarshalJSON(data []byte) error {
	var text string
	data = bytes.TrimSpace(data)
	switch {
	case json.Unmarshal(data, &text) == nil:
		*w = Word(text)
	case len(data) > 0 && data[0] != '{' && data[0] != '[':
		*w = Word(data)
	default:
		*w = ""
	}
	return nil
}

// Loose decodes a value of T as far as possible: fields of another type keep their zero value.
type Loose[T any] struct{ V T }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Loose[T]) UnmarshalJSON(data []byte) error {
	_ = json.Unmarshal(data, &l.V) // encoding/json continues after a value of another type
	return nil
}

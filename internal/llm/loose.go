package llm

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// The types below read bookkeeping: counts, ids, indexes, details. Servers spell these in many ways, and
// no spelling may cost an answer that is whole, so their UnmarshalJSON never fails.

// Count is a number that is not negative. It reads numbers in any notation, also as text; every other
// value is zero.
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

// Index is a position that a server may leave out. It reads whole numbers, also as text; for every other
// value Known is false.
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

// looseNumber reads a JSON number, or a text that holds one.
func looseNumber(data []byte) (float64, bool) {
	text := strings.TrimSpace(strings.Trim(string(data), `"`))
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil && !math.IsNaN(number) && !math.IsInf(number, 0)
}

// Word is an id or a name. It reads a string, and a number or a boolean as it is written; every other
// value is empty.
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

// Loose reads a value of T as far as it can: fields of another shape keep their zero value.
type Loose[T any] struct{ V T }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Loose[T]) UnmarshalJSON(data []byte) error {
	_ = json.Unmarshal(data, &l.V) // encoding/json goes on after a value of another type
	return nil
}

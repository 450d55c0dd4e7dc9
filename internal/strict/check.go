package strict

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/spell"
)

// Vocabulary is the set of words that a value may be.
type Vocabulary struct {
	Words   []string
	Aliases []string // also accepted
}

// has reports whether the word is allowed.
func (v Vocabulary) has(word string) bool {
	return slices.Contains(v.Words, word) || slices.Contains(v.Aliases, word)
}

// Checker checks values against the tags of their types: words and numbers. Values that are not set are not checked.
type Checker struct {
	*Report
	Words func(enum string) Vocabulary
	Also  func(p Path, value reflect.Value, f Field) // called with every value, and with every struct before its contents
}

// Check reports the problems of a struct's values.
func (c Checker) Check(value any) { c.values(Path{}, reflect.ValueOf(value), Field{}) }

func (c Checker) values(p Path, value reflect.Value, f Field) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			c.values(p, value.Elem(), f)
		}
	case reflect.Struct:
		c.Also(p, value, f)
		keys := SchemaOf(value.Type())
		for _, name := range keys.Order {
			inner := keys.Fields[name]
			for key, value := range inner.keys(name, value.FieldByIndex(inner.Index)) {
				c.values(p.Key(key), value, inner)
			}
		}
	case reflect.Map:
		for key, value := range entries(value) {
			c.values(p.Key(key), value, f)
		}
	case reflect.Slice:
		for i := range value.Len() {
			c.values(p.Index(i), value.Index(i), f)
		}
	default:
		c.value(p, value, f)
	}
}

func (c Checker) value(p Path, value reflect.Value, f Field) {
	c.Also(p, value, f)
	switch {
	case value.Kind() == reflect.String:
		c.word(p, value.String(), c.Words(f.Enum))
	case value.CanInt():
		c.number(p, float64(value.Int()), f.Bounds)
	case value.CanFloat():
		// Compare a float32 in its shortest decimal form, as the user wrote it.
		short, _ := strconv.ParseFloat(strconv.FormatFloat(value.Float(), 'g', -1, value.Type().Bits()), 64)
		c.number(p, short, f.Bounds)
	}
}

func (c Checker) number(p Path, n float64, b Bounds) {
	if problem := b.problem(p.Name, n); problem != "" {
		c.Errorf(p, "%s", problem)
	}
}

func (c Checker) word(p Path, word string, allowed Vocabulary) {
	switch {
	case word == "" || len(allowed.Words) == 0 || allowed.has(word):
	default:
		c.Errorf(p, "must be one of %s, got %q%s", strings.Join(allowed.Words, ", "), word, spell.DidYouMean(word, allowed.Words))
	}
}

package strict

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/spell"
)

// Vocabulary is the words that a value may be.
type Vocabulary struct {
	Words   []string
	Aliases []string // accepted too
	// planned reports whether a word is known and nothing honours it yet; nil = no word is.
	Planned func(word string) bool
}

// has reports whether the word is allowed.
func (v Vocabulary) has(word string) bool {
	return slices.Contains(v.Words, word) || slices.Contains(v.Aliases, word)
}

// Checker checks what the tags of the types say of values: words and numbers.
// A value that is not set is not checked.
type Checker struct {
	*Report
	Words func(enum string) Vocabulary
	Also  func(p Path, value reflect.Value, f Field) // is shown every value
}

func (v Checker) Check(value any) { v.values(Path{}, reflect.ValueOf(value), Field{}) }

func (v Checker) values(p Path, value reflect.Value, f Field) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			v.values(p, value.Elem(), f)
		}
	case reflect.Struct:
		keys := SchemaOf(value.Type())
		for _, name := range keys.Order {
			inner := keys.Fields[name]
			for key, value := range inner.keys(name, value.FieldByIndex(inner.Index)) {
				v.values(p.Key(key), value, inner)
			}
		}
	case reflect.Map:
		for entries := value.MapRange(); entries.Next(); {
			v.values(p.Key(entries.Key().String()), entries.Value(), f)
		}
	case reflect.Slice:
		for i := range value.Len() {
			v.values(p.Index(i), value.Index(i), f)
		}
	default:
		v.value(p, value, f)
	}
}

func (v Checker) value(p Path, value reflect.Value, f Field) {
	v.Also(p, value, f)
	switch {
	case value.Kind() == reflect.String:
		v.word(p, value.String(), v.Words(f.Enum))
	case value.CanInt():
		v.number(p, float64(value.Int()), f.Bounds)
	case value.CanFloat():
		// A float32 is compared as it was written.
		short, _ := strconv.ParseFloat(strconv.FormatFloat(value.Float(), 'g', -1, value.Type().Bits()), 64)
		v.number(p, short, f.Bounds)
	}
}

func (v Checker) number(p Path, n float64, b Bounds) {
	if problem := b.problem(p.Name, n); problem != "" {
		v.Errorf(p, "%s", problem)
	}
}

func (v Checker) word(p Path, word string, allowed Vocabulary) {
	switch {
	case word == "" || len(allowed.Words) == 0 || allowed.has(word):
	case allowed.Planned != nil && allowed.Planned(word):
		v.Errorf(p, "%q is not supported yet", word)
	default:
		v.Errorf(p, "must be one of %s, got %q%s", strings.Join(allowed.Words, ", "), word, spell.DidYouMean(word, allowed.Words))
	}
}

package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/internal/spell"
)

// vocabulary is the words that a value may be.
type vocabulary struct {
	words   []string
	aliases []string // accepted too
	// planned reports whether a word is known and nothing honours it yet; nil = no word is.
	planned func(word string) bool
}

// has reports whether the word is allowed.
func (v vocabulary) has(word string) bool {
	return slices.Contains(v.words, word) || slices.Contains(v.aliases, word)
}

// checker checks what the tags of the types say of values: words and numbers.
// A value that is not set is not checked.
type checker struct {
	*report
	words func(enum string) vocabulary
	also  func(p path, value reflect.Value, f field) // is shown every value
}

func (v checker) check(value any) { v.values(path{}, reflect.ValueOf(value), field{}) }

func (v checker) values(p path, value reflect.Value, f field) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			v.values(p, value.Elem(), f)
		}
	case reflect.Struct:
		keys := schemaOf(value.Type())
		for _, name := range keys.order {
			inner := keys.fields[name]
			for key, value := range inner.keys(name, value.FieldByIndex(inner.index)) {
				v.values(p.key(key), value, inner)
			}
		}
	case reflect.Map:
		for entries := value.MapRange(); entries.Next(); {
			v.values(p.key(entries.Key().String()), entries.Value(), f)
		}
	case reflect.Slice:
		for i := range value.Len() {
			v.values(p.index(i), value.Index(i), f)
		}
	default:
		v.value(p, value, f)
	}
}

func (v checker) value(p path, value reflect.Value, f field) {
	v.also(p, value, f)
	switch {
	case value.Kind() == reflect.String:
		v.word(p, value.String(), v.words(f.enum))
	case value.CanInt():
		v.number(p, float64(value.Int()), f.bounds)
	case value.CanFloat():
		// A float32 is compared as it was written.
		short, _ := strconv.ParseFloat(strconv.FormatFloat(value.Float(), 'g', -1, value.Type().Bits()), 64)
		v.number(p, short, f.bounds)
	}
}

func (v checker) number(p path, n float64, b bounds) {
	if problem := b.problem(p.name, n); problem != "" {
		v.errorf(p, "%s", problem)
	}
}

func (v checker) word(p path, word string, allowed vocabulary) {
	switch {
	case word == "" || len(allowed.words) == 0 || allowed.has(word):
	case allowed.planned != nil && allowed.planned(word):
		v.errorf(p, "%q is not supported yet", word)
	default:
		v.errorf(p, "must be one of %s, got %q%s", strings.Join(allowed.words, ", "), word, spell.DidYouMean(word, allowed.words))
	}
}

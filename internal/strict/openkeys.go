package strict

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
	"strings"
)

// part returns the user's part of a key of an open field.
func (f Field) part(key string) (part string, ok bool) {
	rest, before := strings.CutPrefix(key, f.Before)
	part, after := strings.CutSuffix(rest, f.After)
	return part, f.Open && before && after && part != ""
}

// find returns the field that a key belongs to, and the user's part of an open key.
func (s Schema) find(key string) (f Field, part string, ok bool) {
	if f, ok := s.Fields[key]; ok && !f.Open {
		return f, "", true
	}
	for _, name := range s.Order {
		if part, ok := s.Fields[name].part(key); ok {
			return s.Fields[name], part, true
		}
	}
	return Field{}, "", false
}

// keys yields the keys of a field's value: the name in its tag, or those in its mapping, sorted.
func (f Field) keys(name string, value reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		if !f.Open {
			yield(name, value)
			return
		}
		for part, value := range entries(value) {
			if !yield(f.Before+part+f.After, value) {
				return
			}
		}
	}
}

// entries yields the entries of a mapping, sorted by key.
func entries(mapping reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		keys := mapping.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if !yield(key.String(), mapping.MapIndex(key)) {
				return
			}
		}
	}
}

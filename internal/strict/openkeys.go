package strict

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// openKey is the form of keys of which a part is the user's: allowed_<parameter>_patterns.
type openKey struct{ Before, After string }

// openOf is the form that a tag gives to keys; nil = it names one key.
func openOf(tag string) *openKey {
	before, rest, _ := strings.Cut(tag, "<")
	_, after, ok := strings.Cut(rest, ">")
	if !ok {
		return nil
	}
	return &openKey{before, after}
}

// part is the user's part of a key.
func (o *openKey) part(key string) (part string, ok bool) {
	rest, before := strings.CutPrefix(key, o.Before)
	part, after := strings.CutSuffix(rest, o.After)
	return part, before && after && part != ""
}

// find finds the field that a key belongs to, and the part of an open key that
// is the user's.
func (s Schema) find(key string) (f Field, part string, ok bool) {
	if f, ok := s.Fields[key]; ok && f.Open == nil {
		return f, "", true
	}
	for _, name := range s.Order {
		if f := s.Fields[name]; f.Open != nil {
			if part, ok := f.Open.part(key); ok {
				return f, part, true
			}
		}
	}
	return Field{}, "", false
}

// keys are the keys that a field's value is written under: the name in its tag,
// or those that its mapping holds, sorted.
func (f Field) keys(name string, value reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		if f.Open == nil {
			yield(name, value)
			return
		}
		for _, part := range slices.Sorted(maps.Keys(textKeys(value))) {
			if !yield(f.Open.Before+part+f.Open.After, textKeys(value)[part]) {
				return
			}
		}
	}
}

// textKeys is a mapping by its keys.
func textKeys(value reflect.Value) map[string]reflect.Value {
	entries := map[string]reflect.Value{}
	for all := value.MapRange(); all.Next(); {
		entries[all.Key().String()] = all.Value()
	}
	return entries
}

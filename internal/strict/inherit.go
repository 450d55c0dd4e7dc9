package strict

import (
	"cmp"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Inherit merges levels, lowest first: for every field, the last level that sets it wins, and for every mapping the
// last level that has the name. All inheritance happens here. For every key that is set, the map tells which level won.
func Inherit[T any](levels ...T) (T, map[string]int) {
	var out T
	from := map[string]int{}
	for i := range levels { // by address, because a level is a kilobyte
		overlay(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&levels[i]).Elem(), Path{}, func(key Path) { from[key.Text] = i })
	}
	return out, from
}

func overlay(dst, src reflect.Value, at Path, won func(key Path)) {
	keys := SchemaOf(src.Type())
	for _, name := range keys.Order {
		i := keys.Fields[name].Index
		switch field := src.FieldByIndex(i); {
		case field.Kind() == reflect.Struct && field.IsZero(): // fast path: most levels set nothing here
		case field.Kind() == reflect.Struct:
			overlay(dst.FieldByIndex(i), field, at.Key(name), won)
		case field.Kind() == reflect.Map:
			into := dst.FieldByIndex(i)
			if into.IsNil() && field.Len() > 0 {
				into.Set(reflect.MakeMap(into.Type())) // do not share the map with a level
			}
			for key, entry := range entries(field) {
				into.SetMapIndex(reflect.ValueOf(key), entry)
				won(at.Key(name).Key(key))
			}
		case !field.IsZero(): // an empty list counts as set
			dst.FieldByIndex(i).Set(field)
			won(at.Key(name))
		}
	}
}

// Shared yields pairs of values that two structs have under the same key. names maps keys of a, which may be dotted, to
// their names in b; "-" means that the key has another meaning in b.
func Shared(a, b any, names map[string]string) iter.Seq2[reflect.Value, reflect.Value] {
	one, other := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	return func(yield func(a, b reflect.Value) bool) {
		its := SchemaOf(other.Type())
		for _, key := range slices.AppendSeq(slices.Clone(SchemaOf(one.Type()).Order), maps.Keys(names)) {
			f, ok := its.Fields[cmp.Or(names[key], key)]
			if ok && !yield(valueAt(one, key), other.FieldByIndex(f.Index)) {
				return
			}
		}
	}
}

// valueAt returns the value of a struct at an existing dotted key.
func valueAt(v reflect.Value, dotted string) reflect.Value {
	for key := range strings.SplitSeq(dotted, ".") {
		v = v.FieldByIndex(SchemaOf(v.Type()).Fields[key].Index)
	}
	return v
}

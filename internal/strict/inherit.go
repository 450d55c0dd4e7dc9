package strict

import (
	"cmp"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Inherit lays levels over each other, lowest first: of every field, the last
// one that is set wins, and of every mapping the last one that has the name. It
// is the only place where anything is inherited. It tells, for every key that is
// set, which level won.
func Inherit[T any](levels ...T) (T, map[string]int) {
	var out T
	from := map[string]int{}
	for i := range levels { // by address: a level is a kilobyte
		overlay(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&levels[i]).Elem(), Path{}, func(key Path) { from[key.Text] = i })
	}
	return out, from
}

func overlay(dst, src reflect.Value, at Path, won func(key Path)) {
	keys := SchemaOf(src.Type())
	for _, name := range keys.Order {
		i := keys.Fields[name].Index
		switch field := src.FieldByIndex(i); {
		case field.Kind() == reflect.Struct && field.IsZero(): // most levels say nothing there
		case field.Kind() == reflect.Struct:
			overlay(dst.FieldByIndex(i), field, at.Key(name), won)
		case field.Kind() == reflect.Map:
			into := dst.FieldByIndex(i)
			if into.IsNil() && field.Len() > 0 {
				into.Set(reflect.MakeMap(into.Type())) // the levels keep theirs
			}
			for key, entry := range entries(field) {
				into.SetMapIndex(reflect.ValueOf(key), entry)
				won(at.Key(name).Key(key))
			}
		case !field.IsZero(): // an empty list is not: it has been written
			dst.FieldByIndex(i).Set(field)
			won(at.Key(name))
		}
	}
}

// Shared are the values that two structs have under the same key, in pairs. names are
// what keys of a, which may be dotted, are called in b; "-" = b has something else there.
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

// valueAt is the value of a struct under a dotted key that it has.
func valueAt(v reflect.Value, dotted string) reflect.Value {
	for key := range strings.SplitSeq(dotted, ".") {
		v = v.FieldByIndex(SchemaOf(v.Type()).Fields[key].Index)
	}
	return v
}

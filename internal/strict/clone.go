package strict

import (
	"reflect"
	"strings"
)

// Clone returns a deep copy of a value of the decoded types. YAML cannot express nil in a list or a mapping, so such a
// value is reported and replaced by an empty one. Without a report, nil is copied.
func Clone[T any](value T, p Path, r *Report) T {
	return copier{r}.element(p, reflect.ValueOf(value)).Interface().(T)
}

type copier struct{ *Report }

func (c copier) copy(p Path, v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch kind := v.Kind(); {
	case kind == reflect.Struct:
		for i := range v.NumField() {
			if t := v.Type().Field(i); t.IsExported() {
				at := p
				if key, _, _ := strings.Cut(t.Tag.Get("yaml"), ","); key != "" { // empty means inline
					at = p.Key(key)
				}
				out.Field(i).Set(c.copy(at, v.Field(i)))
			}
		}
	case kind == reflect.Pointer && !v.IsNil():
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(c.copy(p, v.Elem()))
	case kind == reflect.Slice && !v.IsNil():
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(c.element(p.Index(i), v.Index(i)))
		}
	case kind == reflect.Map && !v.IsNil():
		out.Set(reflect.MakeMap(v.Type()))
		for key, value := range v.Seq2() {
			out.SetMapIndex(key, c.element(p.Key(key.String()), value))
		}
	}
	return out
}

// element copies a member of a list or a mapping.
func (c copier) element(p Path, v reflect.Value) reflect.Value {
	if c.Report != nil && v.Kind() == reflect.Pointer && v.IsNil() {
		c.Fail(p, "must not be nil")
		return reflect.New(v.Type().Elem())
	}
	return c.copy(p, v)
}

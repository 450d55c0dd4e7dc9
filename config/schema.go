package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/spell"
)

// The tags of the types are the schema. They are read by the decoder, by the
// validator, by show, and by what writes docs/config.md and the JSON schema:
//
//	yaml:"key"         the key; ",late" = text that keeps its templates until it is used, and may be
//	                   secret; ",template" = text with variables that are not the environment's;
//	                   "a_<x>_b" = every key of this form, of a mapping by what stands for <x>
//	enum:"vocabulary"  the words that are allowed: who checks says which
//	min, above, max    bounds of a number: one of min and above, which is exclusive, and perhaps max
//	default, unit      for people: what holds if nothing is said, and what is counted
//	yaml:",inline"     on an embedded type: its keys are keys of the type around it
//	later:"a b"        on a blank field: keys that are known and refused
//	unused:"a b"       on a blank field: keys that are accepted and do nothing; instead:"…" says why
//	removed:"a b"      on a blank field of the type of a whole file: keys that older files have
//	                   anywhere, and that are refused; instead:"…" says why
type schema struct {
	fields  map[string]field
	order   []string          // the keys of fields, as the type has them
	later   []string          // known keys that nothing honours yet
	unused  map[string]string // keys that do nothing, and what to use instead
	removed map[string]string
}

type field struct {
	index  []int  // as reflect's FieldByIndex has it
	late   bool   // its templates are kept
	secret bool   // … and what stands between them is nobody's business
	name   string // of the Go field
	owner  string // the Go type that declares it
	enum   string
	bounds bounds
	open   *open // nil: the key is what the tag says
}

// bounds limit a number; nil = no limit.
type bounds struct{ min, above, max *float64 }

// schemas keeps what schemaOf has read: tags never change.
var schemas sync.Map // reflect.Type → schema

// schemaOf is the schema of a struct type.
func schemaOf(t reflect.Type) schema {
	if known, ok := schemas.Load(t); ok {
		return known.(schema)
	}
	s := readSchema(t)
	schemas.Store(t, s)
	return s
}

func readSchema(t reflect.Type) schema {
	s := schema{fields: map[string]field{}, unused: map[string]string{}, removed: map[string]string{}}
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		s.later = append(s.later, strings.Fields(tag.Get("later"))...)
		for _, key := range strings.Fields(tag.Get("unused")) {
			s.unused[key] = tag.Get("instead")
		}
		for _, key := range strings.Fields(tag.Get("removed")) {
			s.removed[key] = tag.Get("instead")
		}
		switch name, option, _ := strings.Cut(tag.Get("yaml"), ","); {
		case option == "inline":
			s.inline(i, readSchema(t.Field(i).Type))
		case name != "":
			s.order = append(s.order, name)
			s.fields[name] = field{
				index: []int{i}, name: t.Field(i).Name, owner: t.Name(),
				late: option == "late" || option == "template", secret: option == "late",
				enum: tag.Get("enum"), bounds: boundsOf(tag), open: openOf(name),
			}
		}
	}
	return s
}

// inline adds the keys of the i-th field, which is an embedded type.
func (s *schema) inline(i int, inner schema) {
	for _, name := range inner.order {
		f := inner.fields[name]
		f.index = append([]int{i}, f.index...)
		s.order = append(s.order, name)
		s.fields[name] = f
	}
}

func boundsOf(tag reflect.StructTag) bounds {
	number := func(key string) *float64 {
		n, err := strconv.ParseFloat(tag.Get(key), 64)
		if err != nil {
			return nil
		}
		return &n
	}
	return bounds{min: number("min"), above: number("above"), max: number("max")}
}

// problem says why n is out of bounds; "" = it is not. NaN always is.
func (b bounds) problem(key string, n float64) string {
	in := (b.min == nil || n >= *b.min) && (b.above == nil || n > *b.above) && (b.max == nil || n <= *b.max)
	least := cmp.Or(b.min, b.above)
	switch {
	case in || least == nil:
		return ""
	case b.max != nil:
		return fmt.Sprintf("%s must be between %v and %v", key, *least, *b.max)
	case b.above != nil:
		return fmt.Sprintf("%s must be more than %v", key, *b.above)
	case *least == 0:
		return key + " must be non-negative"
	}
	return fmt.Sprintf("%s must be at least %v", key, *least)
}

// refusal says why a key that is not a field is refused at this place of what root holds.
func (s schema) refusal(p path, root reflect.Type) string {
	if instead, ok := schemaOf(root).removed[p.name]; ok {
		return "removed: " + instead
	}
	if slices.Contains(s.later, p.name) {
		return "not supported yet"
	}
	hint := spell.DidYouMean(p.name, slices.Concat(slices.Collect(maps.Keys(s.fields)), s.later, slices.Collect(maps.Keys(s.unused))))
	for _, name := range s.order {
		if f := s.fields[name]; f.open != nil && strings.HasPrefix(p.name, f.open.before) {
			hint = "; a key of this form is " + name
		}
	}
	if hint == "" {
		hint = elsewhere(p.name, root)
	}
	return fmt.Sprintf("unknown key %q%s", p.name, hint)
}

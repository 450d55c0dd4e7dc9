// Package strict decodes YAML into tagged structs, strictly, and encodes it again. It records where every value was
// written, reports everything that is wrong at once, expands variables, merges levels, and gives the origin of every
// value. It knows only the tags of the structs (see Schema), not their meaning.
package strict

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/kit/spell"
)

// Schema describes a struct type by its tags. Decoding, checking, merging, writing and documenting values all use it:
//
//	yaml:"key"         the key; ",late" = text that keeps its templates until it is used, and may be
//	                   secret; ",template" = text with variables that are not the environment's;
//	                   "a_<x>_b" = every key of this form, of a mapping by what stands for <x>;
//	                   ",short" = a text in place of the mapping is the value of this key
//	enum:"vocabulary"  the words that are allowed: who checks says which
//	min, above, max    bounds of a number: one of min and above, which is exclusive, and perhaps max
//	default, unit      for people: what holds if nothing is said, and what is counted
//	yaml:",inline"     on an embedded type: its keys are keys of the type around it
//	unused:"a b"       on a blank field: keys that are accepted and do nothing; instead:"…" says why
//	foreign:"a b"      on any field: keys of other programs' files, which are refused unless their value
//	                   asks for nothing; instead:"…" says what to use
//	removed:"a b"      on a blank field of the type of a whole file: keys that older files have
//	                   anywhere, and that are refused; instead:"…" says why
type Schema struct {
	Fields  map[string]Field
	Order   []string          // the keys of fields, in the order of the type
	Short   string            // the key whose value may replace the whole mapping; empty means none
	Unused  map[string]string // keys that do nothing, and their replacements
	Foreign map[string]string // keys of other programs, and their replacements
	removed map[string]string
}

// Field is a field of such a type, with its key.
type Field struct {
	Index  []int  // for reflect's FieldByIndex
	Late   bool   // its templates are kept
	secret bool   // … and the text between them is shown only with Writer.Secrets
	Name   string // of the Go field
	Owner  string // the Go type that declares it
	Enum   string
	Bounds Bounds
	// Open means that a part of the key is chosen by the user, between Before and After from the tag.
	Open          bool
	Before, After string
}

// Bounds limit a number. Nil means no limit.
type Bounds struct{ Min, Above, Max *float64 }

// schemas caches the results of SchemaOf: tags never change.
var schemas sync.Map // reflect.Type → schema

// SchemaOf returns the schema of a struct type.
func SchemaOf(t reflect.Type) Schema {
	if known, ok := schemas.Load(t); ok {
		return known.(Schema)
	}
	s := readSchema(t)
	schemas.Store(t, s)
	return s
}

func readSchema(t reflect.Type) Schema {
	s := Schema{Fields: map[string]Field{}, Unused: map[string]string{}, Foreign: map[string]string{}, removed: map[string]string{}}
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		for _, key := range strings.Fields(tag.Get("unused")) {
			s.Unused[key] = tag.Get("instead")
		}
		for _, key := range strings.Fields(tag.Get("foreign")) {
			s.Foreign[key] = tag.Get("instead")
		}
		for _, key := range strings.Fields(tag.Get("removed")) {
			s.removed[key] = tag.Get("instead")
		}
		switch name, option, _ := strings.Cut(tag.Get("yaml"), ","); {
		case option == "inline":
			s.inline(i, readSchema(t.Field(i).Type))
		case name != "":
			s.Order = append(s.Order, name)
			if option == "short" {
				s.Short = name
			}
			before, rest, _ := strings.Cut(name, "<")
			_, after, open := strings.Cut(rest, ">")
			s.Fields[name] = Field{
				Index: []int{i}, Name: t.Field(i).Name, Owner: t.Name(),
				Late: option == "late" || option == "template", secret: option == "late",
				Enum: tag.Get("enum"), Bounds: boundsOf(tag), Open: open, Before: before, After: after,
			}
		}
	}
	return s
}

// inline adds the keys of the i-th field, which is an embedded type.
func (s *Schema) inline(i int, inner Schema) {
	for _, name := range inner.Order {
		f := inner.Fields[name]
		f.Index = append([]int{i}, f.Index...)
		s.Order = append(s.Order, name)
		s.Fields[name] = f
	}
}

func boundsOf(tag reflect.StructTag) Bounds {
	number := func(key string) *float64 {
		n, err := strconv.ParseFloat(tag.Get(key), 64)
		if err != nil {
			return nil
		}
		return &n
	}
	return Bounds{Min: number("min"), Above: number("above"), Max: number("max")}
}

// problem says why n is out of bounds, or returns an empty string. NaN is always out of bounds.
func (b Bounds) problem(key string, n float64) string {
	in := (b.Min == nil || n >= *b.Min) && (b.Above == nil || n > *b.Above) && (b.Max == nil || n <= *b.Max)
	least := cmp.Or(b.Min, b.Above)
	switch {
	case in || least == nil:
		return ""
	case b.Max != nil:
		return fmt.Sprintf("%s must be between %v and %v", key, *least, *b.Max)
	case b.Above != nil:
		return fmt.Sprintf("%s must be more than %v", key, *b.Above)
	case *least == 0:
		return key + " must be non-negative"
	}
	return fmt.Sprintf("%s must be at least %v", key, *least)
}

// refusal says why a key that is not a field is refused at this place within root.
func (s Schema) refusal(p Path, root reflect.Type) string {
	if instead, ok := SchemaOf(root).removed[p.Name]; ok {
		return "removed: " + instead
	}
	if instead, ok := s.Foreign[p.Name]; ok {
		return fmt.Sprintf("unknown key %q; %s", p.Name, instead)
	}
	hint := spell.DidYouMean(p.Name, slices.Concat(slices.Collect(maps.Keys(s.Fields)), slices.Collect(maps.Keys(s.Unused))))
	for _, name := range s.Order {
		if f := s.Fields[name]; f.Open && strings.HasPrefix(p.Name, f.Before) {
			hint = "; such keys have the form " + name
		}
	}
	if hint == "" {
		hint = elsewhere(p.Name, root)
	}
	return fmt.Sprintf("unknown key %q%s", p.Name, hint)
}

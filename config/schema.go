package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// schema is what the tags of a type say of its keys.
type schema struct {
	fields map[string]field
	later  []string // known keys that nothing honours yet
}

type field struct {
	index int
	late  bool // keeps its templates
}

// removed are keys that older configurations have, and what to use instead.
var removed = map[string]string{"iteration_strategy": "use type and llm_backend"}

// schemaOf reads the tags of a struct type.
func schemaOf(t reflect.Type) schema {
	s := schema{fields: map[string]field{}}
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		s.later = append(s.later, strings.Fields(tag.Get("later"))...)
		if name, option, _ := strings.Cut(tag.Get("yaml"), ","); name != "" {
			s.fields[name] = field{index: i, late: option == "late"}
		}
	}
	return s
}

// refusal says why a key that is not a field is refused.
func (s schema) refusal(key string) string {
	if instead, ok := removed[key]; ok {
		return "removed: " + instead
	}
	if slices.Contains(s.later, key) {
		return "not supported yet"
	}
	known := append(slices.Collect(maps.Keys(s.fields)), s.later...)
	return fmt.Sprintf("unknown key %q%s", key, didYouMean(key, known))
}

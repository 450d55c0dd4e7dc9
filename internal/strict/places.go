package strict

import (
	"reflect"
	"strings"
)

// Place is a mapping with known keys.
type Place struct {
	At     string // agents.<name>.shell; empty means the top
	Type   reflect.Type
	Schema Schema
}

// Key returns the full path of a key of the place.
func (p Place) Key(name string) string { return strings.TrimPrefix(p.At+"."+name, ".") }

// Places lists all places within root, parents first, in the order of the types.
func Places(root reflect.Type) []Place { return placesIn("", root) }

func placesIn(at string, t reflect.Type) []Place {
	switch t.Kind() {
	case reflect.Pointer:
		return placesIn(at, t.Elem())
	case reflect.Map:
		return placesIn(at+".<name>", t.Elem())
	case reflect.Slice:
		return placesIn(at+"[]", t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	here := Place{At: at, Type: t, Schema: SchemaOf(t)}
	all := []Place{here}
	for _, name := range here.Schema.Order {
		all = append(all, placesIn(here.Key(name), t.FieldByIndex(here.Schema.Fields[name].Index).Type)...)
	}
	return all
}

const maxPlaces = 3 // places that a hint names

// elsewhere says where a key that is unknown here is allowed.
func elsewhere(key string, root reflect.Type) string {
	var found []string
	for _, p := range Places(root) {
		if _, ok := p.Schema.Fields[key]; ok {
			found = append(found, p.Key(key))
		}
	}
	if len(found) == 0 {
		return ""
	}
	more := ""
	if len(found) > maxPlaces {
		found, more = found[:maxPlaces], ", …"
	}
	return "; it belongs at " + strings.Join(found, ", ") + more
}

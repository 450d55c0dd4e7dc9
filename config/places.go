package config

import (
	"reflect"
	"strings"
)

// place is a mapping whose keys we know.
type place struct {
	at     string // agents.<name>.shell; "" = the top
	typ    reflect.Type
	schema schema
}

// key is what a key of the place is called from the top.
func (p place) key(name string) string { return strings.TrimPrefix(p.at+"."+name, ".") }

// places lists all places of what root holds, each before those within it, in the order of the types.
func places(root reflect.Type) []place { return placesIn("", root) }

func placesIn(at string, t reflect.Type) []place {
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
	here := place{at: at, typ: t, schema: schemaOf(t)}
	all := []place{here}
	for _, name := range here.schema.order {
		all = append(all, placesIn(here.key(name), t.FieldByIndex(here.schema.fields[name].index).Type)...)
	}
	return all
}

const maxPlaces = 3 // that a hint names

// elsewhere says where a key that is unknown here may stand.
func elsewhere(key string, root reflect.Type) string {
	var found []string
	for _, p := range places(root) {
		if _, ok := p.schema.fields[key]; ok {
			found = append(found, p.key(key))
		}
	}
	if len(found) == 0 {
		return ""
	}
	more := ""
	if len(found) > maxPlaces {
		found, more = found[:maxPlaces], ", …"
	}
	return "; it is known as " + strings.Join(found, ", ") + more
}

package outgoing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// inOrder writes a schema with its properties in the order of the original, because models fill them in in that order.
func inOrder(top part, original json.RawMessage) json.RawMessage {
	var in struct{ Properties json.RawMessage }
	_ = json.Unmarshal(original, &in) // the original may be true
	var own map[string]json.RawMessage
	_ = json.Unmarshal(in.Properties, &own)
	properties := top["properties"].(part)
	names := slices.DeleteFunc(keys(in.Properties), func(name string) bool { return properties[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if _, listed := own[name]; !listed {
			names = append(names, name)
		}
	}
	var out []string
	for _, name := range names {
		written := text(properties[name])
		if value, err := decode(string(own[name])); err == nil && reflect.DeepEqual(value, properties[name]) {
			written = string(own[name])
		}
		out = append(out, text(name)+":"+written)
	}
	required := ""
	if top["required"] != nil {
		required = `,"required":` + text(top["required"])
	}
	return fmt.Appendf(nil, `{"type":"object","properties":{%s}%s}`, strings.Join(out, ","), required)
}

// keys returns the keys of an object in order, each once.
func keys(object json.RawMessage) (out []string) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for decoder.More() {
		token, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			return out
		}
		if key := token.(string); !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}

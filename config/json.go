package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Values of any shape are kept as the JSON that says the same as their YAML:
// schemas of outputs, and what routing rules compare with.

var jsonType = reflect.TypeFor[json.RawMessage]()

const maxDepth = 50 // of lists and mappings within one another in such a value

// json decodes any YAML, null too.
func (d *decoder) json(n *yaml.Node, p path, dst reflect.Value) {
	if text, err := json.Marshal(d.any(n, p, 0)); err == nil { // it is made of what JSON has
		dst.SetBytes(text)
	}
}

// any is n as encoding/json has it. In the place of what cannot be used, which is
// reported, there is nil.
func (d *decoder) any(n *yaml.Node, p path, depth int) any {
	n = follow(n)
	switch {
	case !d.spend(n):
		return nil
	case depth > maxDepth:
		d.fail(p, "more than %d lists and mappings within one another", maxDepth)
		return nil
	case n.Kind == yaml.MappingNode:
		out := map[string]any{}
		for _, pair := range d.pairs(n, 0) {
			if at := p.key(pair.key.Value); d.enter(at, pair.key) {
				out[pair.key.Value] = d.any(pair.value, at, depth+1)
			}
		}
		return out
	case n.Kind == yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = d.any(item, p.index(i), depth+1)
		}
		return out
	}
	return d.anyScalar(n, p)
}

// anyScalar is text, a number, a truth value or nil. What has variables in it is
// text, whatever their values look like.
func (d *decoder) anyScalar(n *yaml.Node, p path) any {
	text, missing, ok := d.expand(n, p)
	d.lacks(p, missing)
	switch tag := n.ShortTag(); {
	case !ok || tag == "!!null":
		return nil
	case tag == "!!str", tag == "!!timestamp", text != n.Value:
		return text
	case (tag == "!!int" || tag == "!!float") && json.Valid([]byte(text)) && !strings.ContainsAny(text, "eE"):
		return json.Number(text) // in full, however long it is
	case tag == "!!bool", tag == "!!int", tag == "!!float":
		var value any
		_ = n.Decode(&value) // its tag says that it can be
		if f, ok := value.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
			break
		}
		return value
	}
	d.fail(p, "JSON has no such value: %q", n.Value)
	return nil
}

// isSet reports whether a value is there, and not null.
func isSet(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// json is the YAML of a JSON value. The whole of it has one remark.
func (s *shower) json(p path, raw json.RawMessage) *yaml.Node {
	if len(raw) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil // the validator has refused it
	}
	value = s.unexpanded(p, value)
	out := anyNode(value)
	out.LineComment = s.note(p, value)
	return out
}

// unexpanded is a value with its texts as they were written.
func (s *shower) unexpanded(p path, value any) any {
	switch value := value.(type) {
	case string:
		return s.written(p, value, false)
	case []any:
		for i := range value {
			value[i] = s.unexpanded(p.index(i), value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = s.unexpanded(p.key(key), value[key])
		}
	}
	return value
}

// anyNode is YAML that decodes to the value: lists on one line, mappings on several.
func anyNode(value any) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode}
	switch value := value.(type) {
	case nil:
		out.Value = "null"
	case json.Number:
		out.Value = value.String()
	case string:
		return textNode(value)
	case []any:
		out.Kind, out.Style = yaml.SequenceNode, yaml.FlowStyle
		for _, item := range value {
			out.Content = append(out.Content, anyNode(item))
		}
	case map[string]any:
		out.Kind = yaml.MappingNode
		for _, key := range slices.Sorted(maps.Keys(value)) {
			out.Content = append(out.Content, textNode(key), anyNode(value[key]))
		}
		if len(value) == 0 {
			out.Style = yaml.FlowStyle
		}
	default:
		_ = out.Encode(value) // true or false
	}
	return out
}

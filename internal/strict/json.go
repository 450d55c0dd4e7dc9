package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// Values of any shape are kept as JSON that is equivalent to their YAML. decoder.any is the only conversion from YAML,
// and node the only conversion to it.

// JSONType is the type into which such values are decoded.
var JSONType = reflect.TypeFor[json.RawMessage]()

const maxDepth = 50 // nested lists and mappings in such a value

// json decodes any YAML, including null.
func (d *decoder) json(n *yaml.Node, p Path, dst reflect.Value) {
	if text, err := json.Marshal(d.any(n, p, 0)); err == nil { // cannot fail: any returns only JSON values
		dst.SetBytes(text)
	}
}

// any returns n in the form of encoding/json. Values that cannot be used are reported and replaced by nil.
func (d *decoder) any(n *yaml.Node, p Path, depth int) any {
	n = follow(n)
	switch {
	case !d.spend(n):
		return nil
	case depth > maxDepth:
		d.Fail(p, "lists and mappings are nested more than %d levels deep", maxDepth)
		return nil
	case n.Kind == yaml.MappingNode:
		out := map[string]any{}
		for _, pair := range d.pairs(n, 0) {
			if at := p.Key(pair.key.Value); d.enter(at, pair.key) {
				out[pair.key.Value] = d.any(pair.value, at, depth+1)
			}
		}
		return out
	case n.Kind == yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = d.any(item, p.Index(i), depth+1)
		}
		return out
	}
	return d.anyScalar(n, p)
}

// anyScalar returns a string, a number, a boolean or nil. A value with variables is a string, whatever the variables
// contain.
func (d *decoder) anyScalar(n *yaml.Node, p Path) any {
	text, missing, ok := d.expand(n, p)
	d.lacks(p, missing)
	switch tag := n.ShortTag(); {
	case !ok || tag == "!!null":
		return nil
	case tag == "!!str", tag == "!!timestamp", text != n.Value:
		return text
	case (tag == "!!int" || tag == "!!float") && json.Valid([]byte(text)) && !strings.ContainsAny(text, "eE"):
		return json.Number(text) // in full, whatever its length
	case tag == "!!bool", tag == "!!int", tag == "!!float":
		var value any
		_ = n.Decode(&value) // cannot fail: the tag has been checked
		if f, ok := value.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
			break
		}
		return value
	}
	d.Fail(p, "not a JSON value: %q", n.Value)
	return nil
}

// node returns the YAML that decodes to a JSON value. Lists have the given style; mappings use several lines.
func node(value any, lists yaml.Style) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode}
	switch value := value.(type) {
	case nil:
		out.Value = "null"
	case json.Number:
		out.Value = value.String()
	case string:
		return textNode(value)
	case []any:
		out.Kind, out.Style = yaml.SequenceNode, lists
		for _, item := range value {
			out.Content = append(out.Content, node(item, lists))
		}
	case map[string]any:
		out.Kind = yaml.MappingNode
		for _, key := range slices.Sorted(maps.Keys(value)) {
			out.Content = append(out.Content, textNode(key), node(value[key], lists))
		}
		if len(value) == 0 {
			out.Style = yaml.FlowStyle
		}
	default:
		_ = out.Encode(value) // numbers and booleans can always be encoded
	}
	return out
}

// Encode writes a JSON value as YAML.
func Encode(value any) ([]byte, error) { return write(node(value, 0)) }

func write(root *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(root)
	return out.Bytes(), errors.Join(err, encoder.Close())
}

// textNode returns a text in a style that decodes to the same text.
func textNode(text string) *yaml.Node {
	out := &yaml.Node{}
	out.SetString(text)
	switch {
	case out.Style == yaml.LiteralStyle && !plainLines(text),
		out.Style != yaml.LiteralStyle && strings.ContainsFunc(text, odd),
		text == "<<": // would be a merge
		out.Style = yaml.DoubleQuotedStyle
	}
	return out
}

// odd reports whether a character should be written as an escape sequence.
func odd(r rune) bool { return !unicode.IsPrint(r) }

// plainLines reports whether a text survives being written line by line.
func plainLines(text string) bool {
	body := strings.TrimSuffix(text, "\n")
	return body != "" && strings.TrimSpace(body) == body && !strings.ContainsFunc(strings.ReplaceAll(body, "\n", ""), odd)
}

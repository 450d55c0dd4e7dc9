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

// Values of any shape are kept as the JSON that says the same as their YAML. There is
// one way from YAML, decoder.any, and one to it, node.

// JSONType is the type that such values are decoded into.
var JSONType = reflect.TypeFor[json.RawMessage]()

const maxDepth = 50 // of lists and mappings within one another in such a value

// json decodes any YAML, null too.
func (d *decoder) json(n *yaml.Node, p Path, dst reflect.Value) {
	if text, err := json.Marshal(d.any(n, p, 0)); err == nil { // it is made of what JSON has
		dst.SetBytes(text)
	}
}

// any is n as encoding/json has it. In the place of what cannot be used, which is
// reported, there is nil.
func (d *decoder) any(n *yaml.Node, p Path, depth int) any {
	n = follow(n)
	switch {
	case !d.spend(n):
		return nil
	case depth > maxDepth:
		d.Fail(p, "more than %d lists and mappings within one another", maxDepth)
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

// anyScalar is text, a number, a truth value or nil. What has variables in it is
// text, whatever their values look like.
func (d *decoder) anyScalar(n *yaml.Node, p Path) any {
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
	d.Fail(p, "JSON has no such value: %q", n.Value)
	return nil
}

// node is the YAML that decodes to a value of JSON: lists are of a style, mappings
// stand on several lines.
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
		_ = out.Encode(value) // numbers and truth values can be encoded
	}
	return out
}

// Encode writes a value of JSON as YAML.
func Encode(value any) ([]byte, error) { return write(node(value, 0)) }

func write(root *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(root)
	return out.Bytes(), errors.Join(err, encoder.Close())
}

// textNode is a text in the style in which it is read again as it is.
func textNode(text string) *yaml.Node {
	out := &yaml.Node{}
	out.SetString(text)
	switch {
	case out.Style == yaml.LiteralStyle && !plainLines(text),
		out.Style != yaml.LiteralStyle && strings.ContainsFunc(text, odd),
		text == "<<": // which is a merge
		out.Style = yaml.DoubleQuotedStyle
	}
	return out
}

// odd reports whether a character is better written as an escape sequence.
func odd(r rune) bool { return !unicode.IsPrint(r) }

// plainLines reports whether a text can be written line by line and read again.
func plainLines(text string) bool {
	body := strings.TrimSuffix(text, "\n")
	return body != "" && strings.TrimSpace(body) == body && !strings.ContainsFunc(strings.ReplaceAll(body, "\n", ""), odd)
}

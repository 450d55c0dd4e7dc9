package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/inquest-dev/inquest/internal/braces"
)

// hidden stands for text that may be secret.
const hidden = "[hidden]"

// Shown is one value, and where it comes from.
type Shown struct {
	Path  string `json:"path"`
	Value any    `json:"value"` // text, a number, a truth value, a list of texts, or what JSON has
	From  From   `json:"from"`
}

// shower writes a value as YAML that is decoded to the same value. Behind every part
// of it stands where that comes from. Values with variables are written with them.
type shower struct {
	*report                   // of what was decoded
	origin  func(path) origin // of the value at a path
	secrets bool              // late texts are written whole, and not their variables alone
	values  []Shown
}

// show returns the YAML of a struct, and its values in that order.
func (s shower) show(value any) ([]byte, []Shown, error) {
	root := s.node(path{}, reflect.ValueOf(value), field{})
	if root == nil {
		return []byte("{}\n"), nil, nil
	}
	out, err := write(root)
	return out, s.values, err
}

// node is the YAML of a value; nil if it is not set.
func (s *shower) node(p path, value reflect.Value, f field) *yaml.Node {
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return s.node(p, value.Elem(), f)
	case reflect.Struct:
		return s.structure(p, value)
	case reflect.Map:
		return s.mapping(p, value, f)
	case reflect.Slice:
		if raw, ok := value.Interface().(json.RawMessage); ok {
			return s.json(p, raw)
		}
		return s.sequence(p, value, f)
	}
	return s.scalar(p, value, f)
}

func (s *shower) structure(p path, value reflect.Value) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	keys := schemaOf(value.Type())
	for _, name := range keys.order {
		f := keys.fields[name]
		for key, value := range f.keys(name, value.FieldByIndex(f.index)) {
			s.add(out, p.key(key), s.node(p.key(key), value, f))
		}
	}
	return filled(out)
}

func (s *shower) mapping(p path, value reflect.Value, f field) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	entries := textKeys(value)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		at := p.key(name)
		node := s.node(at, entries[name], f)
		if node == nil { // an entry that sets nothing is an entry
			node = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
			if !f.structs() {
				node = s.text(at, "")
			}
		}
		s.add(out, at, node)
	}
	return filled(out)
}

// filled is the mapping; nil if it is empty.
func filled(mapping *yaml.Node) *yaml.Node {
	if len(mapping.Content) == 0 {
		return nil
	}
	return mapping
}

// add adds a key. The remark about a value of several lines stands above it.
// Structures have none: their values have.
func (s *shower) add(mapping *yaml.Node, p path, value *yaml.Node) {
	if value == nil {
		return
	}
	key := textNode(p.name)
	if value.Style == yaml.LiteralStyle || value.Kind == yaml.MappingNode && value.Style != yaml.FlowStyle {
		key.HeadComment, value.LineComment = value.LineComment, ""
	}
	mapping.Content = append(mapping.Content, key, value)
}

func (s *shower) sequence(p path, value reflect.Value, f field) *yaml.Node {
	if value.IsNil() {
		return nil
	}
	out := &yaml.Node{Kind: yaml.SequenceNode}
	if kind := value.Type().Elem().Kind(); kind == reflect.String || value.Len() == 0 {
		return s.texts(out, p, value)
	}
	for i := range value.Len() {
		node := s.node(p.index(i), value.Index(i), f)
		if node == nil {
			node = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		}
		out.Content = append(out.Content, node)
	}
	return out
}

// texts is a list on one line.
func (s *shower) texts(out *yaml.Node, p path, value reflect.Value) *yaml.Node {
	out.Style = yaml.FlowStyle
	texts := make([]string, value.Len())
	for i := range texts {
		texts[i] = s.written(p.index(i), value.Index(i).String(), false)
		item := textNode(texts[i])
		item.Style = yaml.DoubleQuotedStyle
		out.Content = append(out.Content, item)
	}
	out.LineComment = s.note(p, texts)
	return out
}

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
	out := node(value, yaml.FlowStyle)
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

// written is the text as it was written: with its variables, if it has any.
func (s *shower) written(p path, text string, late bool) string {
	if late && !s.secrets {
		return veil(text)
	}
	return s.template(s.origin(p).at, text)
}

// veil hides all of a late text but its variables.
func veil(text string) string {
	var out strings.Builder
	rest := 0
	for _, m := range braces.Action.FindAllStringIndex(text, -1) {
		if m[0] > rest {
			out.WriteString(hidden)
		}
		out.WriteString(text[m[0]:m[1]])
		rest = m[1]
	}
	if rest < len(text) {
		out.WriteString(hidden)
	}
	return out.String()
}

func (s *shower) scalar(p path, value reflect.Value, f field) *yaml.Node {
	plain := fmt.Sprint(value.Interface())
	text, length := s.written(p, plain, f.secret), isDuration(value.Type())
	switch {
	case length && value.IsZero(), value.Kind() == reflect.String && text == "":
		return nil
	case text != plain, value.Kind() == reflect.String, length:
		return s.text(p, text)
	}
	out := node(value.Interface(), 0)
	out.LineComment = s.note(p, value.Interface())
	return out
}

func (s *shower) text(p path, text string) *yaml.Node {
	out := textNode(text)
	out.LineComment = s.note(p, text)
	return out
}

// note keeps the value for Explain, and returns the remark about it.
func (s *shower) note(p path, value any) string {
	o := s.origin(p)
	from := s.where(o)
	s.values = append(s.values, Shown{Path: p.text, Value: value, From: from})
	remark := from.String()
	if o.rule == "" && o.at.text != p.text {
		remark += " " + o.at.text
	}
	return strings.Map(printable, remark) // a file's name may hold anything
}

func printable(r rune) rune {
	if odd(r) {
		return '?'
	}
	return r
}

// structs reports whether the values of a mapping are structures.
func (f field) structs() bool { return f.enum == "" && !f.late }

package strict

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

// Writer writes a value as YAML that is decoded to the same value. Behind every part
// of it stands where that comes from. Values with variables are written with them.
type Writer struct {
	*Report                   // of what was decoded
	Origin  func(Path) Origin // of the value at a path
	Secrets bool              // late texts are written whole, and not their variables alone
	values  []Shown
}

// Write returns the YAML of a struct, and its values in that order.
func (s Writer) Write(value any) ([]byte, []Shown, error) {
	root := s.node(Path{}, reflect.ValueOf(value), Field{})
	if root == nil {
		return []byte("{}\n"), nil, nil
	}
	out, err := write(root)
	return out, s.values, err
}

// node is the YAML of a value; nil if it is not set.
func (s *Writer) node(p Path, value reflect.Value, f Field) *yaml.Node {
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

func (s *Writer) structure(p Path, value reflect.Value) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	keys := SchemaOf(value.Type())
	for _, name := range keys.Order {
		f := keys.Fields[name]
		for key, value := range f.keys(name, value.FieldByIndex(f.Index)) {
			s.add(out, p.Key(key), s.node(p.Key(key), value, f))
		}
	}
	return filled(out)
}

func (s *Writer) mapping(p Path, value reflect.Value, f Field) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	entries := textKeys(value)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		at := p.Key(name)
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
func (s *Writer) add(mapping *yaml.Node, p Path, value *yaml.Node) {
	if value == nil {
		return
	}
	key := textNode(p.Name)
	if value.Style == yaml.LiteralStyle || value.Kind == yaml.MappingNode && value.Style != yaml.FlowStyle {
		key.HeadComment, value.LineComment = value.LineComment, ""
	}
	mapping.Content = append(mapping.Content, key, value)
}

func (s *Writer) sequence(p Path, value reflect.Value, f Field) *yaml.Node {
	if value.IsNil() {
		return nil
	}
	out := &yaml.Node{Kind: yaml.SequenceNode}
	if kind := value.Type().Elem().Kind(); kind == reflect.String || value.Len() == 0 {
		return s.texts(out, p, value)
	}
	for i := range value.Len() {
		node := s.node(p.Index(i), value.Index(i), f)
		if node == nil {
			node = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		}
		out.Content = append(out.Content, node)
	}
	return out
}

// texts is a list on one line.
func (s *Writer) texts(out *yaml.Node, p Path, value reflect.Value) *yaml.Node {
	out.Style = yaml.FlowStyle
	texts := make([]string, value.Len())
	for i := range texts {
		texts[i] = s.written(p.Index(i), value.Index(i).String(), false)
		item := textNode(texts[i])
		item.Style = yaml.DoubleQuotedStyle
		out.Content = append(out.Content, item)
	}
	out.LineComment = s.note(p, texts)
	return out
}

// json is the YAML of a JSON value. The whole of it has one remark.
func (s *Writer) json(p Path, raw json.RawMessage) *yaml.Node {
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
func (s *Writer) unexpanded(p Path, value any) any {
	switch value := value.(type) {
	case string:
		return s.written(p, value, false)
	case []any:
		for i := range value {
			value[i] = s.unexpanded(p.Index(i), value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = s.unexpanded(p.Key(key), value[key])
		}
	}
	return value
}

// written is the text as it was written: with its variables, if it has any.
func (s *Writer) written(p Path, text string, late bool) string {
	if late && !s.Secrets {
		return veil(text)
	}
	return s.Template(s.Origin(p).At, text)
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

func (s *Writer) scalar(p Path, value reflect.Value, f Field) *yaml.Node {
	plain := fmt.Sprint(value.Interface())
	text, length := s.written(p, plain, f.secret), IsDuration(value.Type())
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

func (s *Writer) text(p Path, text string) *yaml.Node {
	out := textNode(text)
	out.LineComment = s.note(p, text)
	return out
}

// note keeps the value for Explain, and returns the remark about it.
func (s *Writer) note(p Path, value any) string {
	o := s.Origin(p)
	from := s.Where(o)
	s.values = append(s.values, Shown{Path: p.Text, Value: value, From: from})
	remark := from.String()
	if o.Rule == "" && o.At.Text != p.Text {
		remark += " " + o.At.Text
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
func (f Field) structs() bool { return f.Enum == "" && !f.Late }

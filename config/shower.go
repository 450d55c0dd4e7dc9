package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/inquest-dev/inquest/internal/braces"
)

// hidden stands for text that may be secret.
const hidden = "[hidden]"

// shower turns a view into YAML.
type shower struct {
	*view
	values []Shown
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
		item := &yaml.Node{}
		item.SetString(texts[i])
		item.Style = yaml.DoubleQuotedStyle
		out.Content = append(out.Content, item)
	}
	out.LineComment = s.note(p, texts)
	return out
}

// written is the text as it was written: with its variables, if it has any.
func (s *shower) written(p path, text string, late bool) string {
	template, ok := s.source.report.templates[s.origin(p).at.text]
	switch {
	case late && !s.secrets:
		return veil(text)
	case ok:
		return template
	}
	return text
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
	text := s.written(p, fmt.Sprint(value.Interface()), f.secret)
	_, template := s.source.report.templates[s.origin(p).at.text]
	switch {
	case value.Type() == durationType && value.IsZero(), value.Kind() == reflect.String && text == "":
		return nil
	case template, value.Kind() == reflect.String, value.Type() == durationType:
		return s.text(p, text)
	}
	out := &yaml.Node{}
	if out.Encode(value.Interface()) != nil {
		return nil // numbers and truth values can be encoded
	}
	out.LineComment = s.note(p, value.Interface())
	return out
}

func (s *shower) text(p path, text string) *yaml.Node {
	out := textNode(text)
	out.LineComment = s.note(p, text)
	return out
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

// note keeps the value for Explain, and returns the remark about it.
func (s *shower) note(p path, value any) string {
	o := s.origin(p)
	from := s.source.report.where(o)
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

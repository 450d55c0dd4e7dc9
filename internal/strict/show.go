package strict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/inquest-dev/inquest/internal/kit/braces"
)

// hidden replaces text that may be secret.
const hidden = "[hidden]"

// Shown is one value with its origin.
type Shown struct {
	Path  string `json:"path"`
	Value any    `json:"value"` // text, a number, a boolean, a list of texts, or JSON
	From  From   `json:"from"`
}

// Writer writes a value as YAML that decodes to the same value. A comment after every part gives its origin. Values
// with variables are written with the variables.
type Writer struct {
	*Report                   // of the decoded value
	Origin  func(Path) Origin // of the value at a path
	Secrets bool              // write late texts in full, and not only their variables
	values  []Shown
}

// Write returns the YAML of a struct, and its values in the same order.
func (w Writer) Write(value any) ([]byte, []Shown, error) {
	root := w.node(Path{}, reflect.ValueOf(value), Field{})
	if root == nil {
		return []byte("{}\n"), nil, nil
	}
	out, err := write(root)
	return out, w.values, err
}

// node returns the YAML of a value, or nil if it is not set.
func (w *Writer) node(p Path, value reflect.Value, f Field) *yaml.Node {
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return w.node(p, value.Elem(), f)
	case reflect.Struct:
		return w.structure(p, value)
	case reflect.Map:
		return w.mapping(p, value, f)
	case reflect.Slice:
		if raw, ok := value.Interface().(json.RawMessage); ok {
			return w.json(p, raw)
		}
		return w.sequence(p, value, f)
	}
	return w.scalar(p, value, f)
}

func (w *Writer) structure(p Path, value reflect.Value) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	keys := SchemaOf(value.Type())
	for _, name := range keys.Order {
		f := keys.Fields[name]
		for key, value := range f.keys(name, value.FieldByIndex(f.Index)) {
			w.add(out, p.Key(key), w.node(p.Key(key), value, f))
		}
	}
	return filled(out)
}

func (w *Writer) mapping(p Path, value reflect.Value, f Field) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for name, entry := range entries(value) {
		at := p.Key(name)
		node := w.node(at, entry, f)
		if node == nil { // an entry that sets nothing is still an entry
			node = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
			if !f.structs() {
				node = w.text(at, "")
			}
		}
		w.add(out, at, node)
	}
	return filled(out)
}

// filled returns the mapping, or nil if it is empty.
func filled(mapping *yaml.Node) *yaml.Node {
	if len(mapping.Content) == 0 {
		return nil
	}
	return mapping
}

// add adds a key. The comment on a value with several lines goes above it. Structs have no comment, because their
// values have them.
func (w *Writer) add(mapping *yaml.Node, p Path, value *yaml.Node) {
	if value == nil {
		return
	}
	key := textNode(p.Name)
	if value.Style == yaml.LiteralStyle || value.Kind == yaml.MappingNode && value.Style != yaml.FlowStyle {
		key.HeadComment, value.LineComment = value.LineComment, ""
	}
	mapping.Content = append(mapping.Content, key, value)
}

func (w *Writer) sequence(p Path, value reflect.Value, f Field) *yaml.Node {
	if value.IsNil() {
		return nil
	}
	out := &yaml.Node{Kind: yaml.SequenceNode}
	if kind := value.Type().Elem().Kind(); kind == reflect.String || value.Len() == 0 {
		return w.texts(out, p, value)
	}
	for i := range value.Len() {
		node := w.node(p.Index(i), value.Index(i), f)
		if node == nil {
			node = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		}
		out.Content = append(out.Content, node)
	}
	return out
}

// texts returns a list on one line.
func (w *Writer) texts(out *yaml.Node, p Path, value reflect.Value) *yaml.Node {
	out.Style = yaml.FlowStyle
	texts := make([]string, value.Len())
	for i := range texts {
		texts[i] = w.written(p.Index(i), value.Index(i).String(), false)
		item := textNode(texts[i])
		item.Style = yaml.DoubleQuotedStyle
		out.Content = append(out.Content, item)
	}
	out.LineComment = w.note(p, texts)
	return out
}

// json returns the YAML of a JSON value, with one comment for the whole.
func (w *Writer) json(p Path, raw json.RawMessage) *yaml.Node {
	if len(raw) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil // the validator has refused it
	}
	value = w.unexpanded(p, value)
	out := node(value, yaml.FlowStyle)
	out.LineComment = w.note(p, value)
	return out
}

// unexpanded returns a value with its texts as they were written.
func (w *Writer) unexpanded(p Path, value any) any {
	switch value := value.(type) {
	case string:
		return w.written(p, value, false)
	case []any:
		for i := range value {
			value[i] = w.unexpanded(p.Index(i), value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = w.unexpanded(p.Key(key), value[key])
		}
	}
	return value
}

// written returns the original text, with its variables.
func (w *Writer) written(p Path, text string, late bool) string {
	if late && !w.Secrets {
		return veil(text)
	}
	return w.Template(w.Origin(p).At, text)
}

// veil hides all of a late text except its variables.
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

func (w *Writer) scalar(p Path, value reflect.Value, f Field) *yaml.Node {
	plain := fmt.Sprint(value.Interface())
	text, length := w.written(p, plain, f.secret), IsDuration(value.Type())
	switch {
	case length && value.IsZero(), value.Kind() == reflect.String && text == "":
		return nil
	case text != plain, value.Kind() == reflect.String, length:
		return w.text(p, text)
	}
	out := node(value.Interface(), 0)
	out.LineComment = w.note(p, value.Interface())
	return out
}

func (w *Writer) text(p Path, text string) *yaml.Node {
	out := textNode(text)
	out.LineComment = w.note(p, text)
	return out
}

// note records the value for Write and returns the comment with its origin.
func (w *Writer) note(p Path, value any) string {
	o := w.Origin(p)
	from := w.Where(o)
	w.values = append(w.values, Shown{Path: p.Text, Value: value, From: from})
	remark := from.String()
	if o.Rule == "" && o.At.Text != p.Text {
		remark += " " + o.At.Text
	}
	return strings.Map(printable, remark) // the name of a file may contain anything
}

func printable(r rune) rune {
	if odd(r) {
		return '?'
	}
	return r
}

// structs reports whether the values of a mapping are structs.
func (f Field) structs() bool { return f.Enum == "" && !f.Late }

package strict

import (
	"reflect"
	"regexp"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

const (
	maxNodes  = 200_000 // values of one file, counting each use of an alias: prevents alias bombs
	maxMerges = 20      // nested "<<"
)

// decoder decodes the YAML of one file into Go values by the tags of their types: see Schema. It records where
// everything was written.
type decoder struct {
	*Report
	file   File
	vars   Variables
	root   reflect.Type // of the whole file
	budget int
}

// value decodes n into dst, which keeps its value if n is null.
func (d *decoder) value(n *yaml.Node, p Path, dst reflect.Value, late bool) {
	n = follow(n)
	if dst.Type() == JSONType {
		d.json(n, p, dst)
		return
	}
	d.tag(n, p)
	if !d.spend(n) || n.ShortTag() == "!!null" {
		return
	}
	switch kind := dst.Kind(); {
	case kind == reflect.Pointer:
		if dst.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
		}
		if zero, err := time.ParseDuration(n.Value); err == nil && zero == 0 && IsDuration(dst.Type().Elem()) {
			return // for an optional duration, 0 differs from not set
		}
		d.value(n, p, dst.Elem(), late)
	case kind == reflect.Struct:
		d.structure(n, p, dst)
	case kind == reflect.Map:
		d.mapping(n, p, dst, late)
	case kind == reflect.Slice:
		d.sequence(n, p, dst, late)
	default:
		d.scalar(n, p, dst, late)
	}
}

// tag warns of a tag such as !env, which other programs expand.
func (d *decoder) tag(n *yaml.Node, p Path) {
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") && n.Tag != "!" {
		name := "NAME"
		if variableName.MatchString(n.Value) {
			name = n.Value
		}
		d.Add(SeverityWarning, p, "the tag %s does nothing here; for the value of a variable, write {{.%s}}", n.Tag, name)
	}
}

var variableName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// structure decodes a mapping with known keys.
func (d *decoder) structure(n *yaml.Node, p Path, dst reflect.Value) {
	keys := SchemaOf(dst.Type())
	if n.Kind == yaml.ScalarNode && keys.Short != "" {
		f := keys.Fields[keys.Short]
		d.value(n, p.Key(keys.Short), dst.FieldByIndex(f.Index), f.Late)
		return
	}
	if !d.want(n, p, yaml.MappingNode, "a mapping of keys to values") {
		return
	}
	for _, pair := range d.pairs(n, 0) {
		name := pair.key.Value
		at := p.Key(name)
		if !d.enter(at, pair.key) {
			continue
		}
		if f, part, ok := keys.find(name); ok && part != "" {
			d.entry(pair.value, at, dst.FieldByIndex(f.Index), part, f.Late)
		} else if ok {
			d.value(pair.value, at, dst.FieldByIndex(f.Index), f.Late)
		} else if instead, ok := keys.Unused[name]; ok {
			d.Add(SeverityWarning, at, "has no effect: %s", instead)
		} else if instead, ok := keys.Foreign[name]; ok && nothing(pair.value) {
			d.Add(SeverityWarning, at, "has no effect: %s", instead)
		} else {
			d.Fail(at, "%s", keys.refusal(at, d.root))
		}
	}
}

// nothing reports whether a value asks for nothing: null, [], {}, or a mapping with enabled: false.
func nothing(n *yaml.Node) bool {
	n = follow(n)
	if n.Kind == yaml.ScalarNode {
		return n.ShortTag() == "!!null"
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		var enabled bool
		if n.Content[i].Value == "enabled" && n.Content[i+1].Decode(&enabled) == nil && !enabled {
			return true
		}
	}
	return len(n.Content) == 0
}

// mapping decodes a mapping whose keys are chosen by the user.
func (d *decoder) mapping(n *yaml.Node, p Path, dst reflect.Value, late bool) {
	if !d.want(n, p, yaml.MappingNode, "a mapping of names to values") {
		return
	}
	if dst.IsNil() {
		dst.Set(reflect.MakeMap(dst.Type()))
	}
	for _, pair := range d.pairs(n, 0) {
		at := p.Key(pair.key.Value)
		if d.enter(at, pair.key) {
			d.entry(pair.value, at, dst, pair.key.Value, late)
		}
	}
}

// entry decodes n as a mapping's value of a key.
func (d *decoder) entry(n *yaml.Node, p Path, dst reflect.Value, key string, late bool) {
	if dst.IsNil() {
		dst.Set(reflect.MakeMap(dst.Type()))
	}
	dst.SetMapIndex(reflect.ValueOf(key), d.element(n, p, dst.Type().Elem(), late))
}

// sequence decodes a list. An empty list is not nil.
func (d *decoder) sequence(n *yaml.Node, p Path, dst reflect.Value, late bool) {
	if !d.want(n, p, yaml.SequenceNode, "a list") {
		return
	}
	dst.Set(reflect.MakeSlice(dst.Type(), 0, len(n.Content)))
	for i, item := range n.Content {
		at := p.Index(i)
		d.at[at.Text] = position{file: d.file.Name, line: item.Line, builtIn: d.file.BuiltIn, entry: at.Entry}
		dst.Set(reflect.Append(dst, d.element(item, at, dst.Type().Elem(), late)))
	}
}

// element decodes a member of a map or list. It is never a nil pointer.
func (d *decoder) element(n *yaml.Node, p Path, t reflect.Type, late bool) reflect.Value {
	elem := reflect.New(t).Elem()
	if t.Kind() == reflect.Pointer {
		elem.Set(reflect.New(t.Elem()))
	}
	d.value(n, p, elem, late)
	return elem
}

// enter records where a key was written. It returns false, and reports an error, if the key was written before, here or
// in another file. Sections of several files merge.
func (d *decoder) enter(p Path, key *yaml.Node) bool {
	prev, seen := d.at[p.Text]
	if !seen {
		d.at[p.Text] = position{file: d.file.Name, line: key.Line, builtIn: d.file.BuiltIn, entry: p.Entry}
		return true
	}
	if prev.file != d.file.Name && p.depth == 1 {
		return true
	}
	d.Findings = append(d.Findings, Finding{
		Severity: SeverityError, Path: p.Text, File: d.file.Name, Line: key.Line,
		Message: duplicate(prev, d.file.Name),
	})
	return false
}

// want reports whether n is of the kind, and adds a finding if not.
func (d *decoder) want(n *yaml.Node, p Path, kind yaml.Kind, what string) bool {
	if n.Kind == kind {
		return true
	}
	if p.depth == 0 {
		d.Unreadable(d.file.Name, n.Line, "must be %s", what)
		return false
	}
	d.Fail(p, "must be %s", what)
	return false
}

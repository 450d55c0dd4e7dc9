package configuration

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/kit/goldentest"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// TestDocs checks docs/reference/config.md and docs/reference/config.schema.json, which are made
// from the types and their comments. -update writes them.
func TestDocs(t *testing.T) {
	t.Parallel()
	r := newManual(t)
	for name, want := range map[string]string{"config.md": r.markdown(), "config.schema.json": r.jsonSchema()} {
		goldentest.Equal(t, "../../docs/reference/"+name, want)
	}
}

// manual holds the known facts about every key: the schema, and the comments.
type manual struct {
	*testing.T
	pkg      *doc.Package
	builtIn  map[string]any // values of defaults, by path
	comments map[string]string
	places   []strict.Place
}

func newManual(t *testing.T) *manual {
	t.Helper()
	files := token.NewFileSet()
	var parsed []*ast.File
	entries, err := os.ReadDir("../../config")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(files, filepath.Join("../../config", name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
	}
	r := &manual{T: t, comments: map[string]string{}, builtIn: map[string]any{}, places: strict.Places(reflect.TypeFor[config.Config]())}
	for _, file := range parsed {
		r.readComments(file)
	}
	if r.pkg, err = doc.NewFromFiles(files, parsed, "config"); err != nil {
		t.Fatal(err)
	}
	c := read(builtInFiles(), lookupIn(baseEnv), strict.NewReport())
	s := strict.Writer{Report: c.report, Origin: func(p path) origin { return origin{At: p} }}
	_, values, err := s.Write(config.Config{Defaults: c.Defaults})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		r.builtIn[v.Path] = v.Value
	}
	return r
}

// readComments stores the comments of types ("Agent") and fields ("Agent.Type").
func (r *manual) readComments(file *ast.File) {
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			named := spec.(*ast.TypeSpec)
			r.comments[named.Name.Name] = sentence(cmp.Or(named.Doc.Text(), group.Doc.Text()))
			fields, ok := named.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, f := range fields.Fields.List {
				for _, name := range f.Names {
					r.comments[named.Name.Name+"."+name.Name] = sentence(cmp.Or(f.Doc.Text(), f.Comment.Text()))
				}
			}
		}
	}
}

var specification = regexp.MustCompile(` \(spec: [^)]*\)`) // for readers of the code

func sentence(text string) string {
	return specification.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
}

// comment returns the comment of a key, with the key instead of the Go name.
func (r *manual) comment(p strict.Place, key string) string {
	name, owner := p.Schema.Fields[key].Name, p.Schema.Fields[key].Owner
	text := r.comments[owner+"."+name]
	if text == "" {
		r.Errorf("%s.%s has no comment", owner, name)
	}
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		return key + " " + rest
	}
	return text
}

func tagOf(p strict.Place, key string) reflect.StructTag {
	return p.Type.FieldByIndex(p.Schema.Fields[key].Index).Tag
}

// standard returns the default of a key.
func (r *manual) standard(p strict.Place, key string) string {
	if text := tagOf(p, key).Get("default"); text != "" {
		return text
	}
	for _, same := range r.places {
		if value, ok := r.builtIn[same.Key(key)]; ok && same.Type == p.Type {
			return fmt.Sprint(value)
		}
	}
	_, inherited := strict.SchemaOf(reflect.TypeFor[settings]()).Fields[key]
	if inherited && strings.Contains(p.At, "<name>") && p.Schema.Fields[key].Name != "Provider" {
		return "inherited"
	}
	return "–"
}

func (r *manual) markdown() string {
	var out strings.Builder
	out.WriteString("<!-- Generated from the types of the package config: " +
		"go test ./internal/configuration -run TestDocs -update. -->\n\n# Configuration\n\n")
	text := strings.TrimPrefix(r.pkg.Doc, "Package config is")
	printer := r.pkg.Printer()
	printer.HeadingLevel = 2
	printer.HeadingID = func(*comment.Heading) string { return "" }
	page := printer.Markdown(r.pkg.Parser().Parse("The configuration is" + text))
	// Comments use Markdown for code, which the printer takes for plain text.
	out.WriteString(strings.NewReplacer("\\_", "_", "\\`", "`").Replace(string(page)))
	out.WriteString("\n## Keys\n\nAll *.yaml files of a directory form one configuration: their sections are merged. " +
		"`starter validate` lists every problem in it, and `starter config show` prints the result.\n" +
		"For editors there is a JSON schema: `# yaml-language-server: $schema=docs/reference/config.schema.json`.\n")
	var types []reflect.Type
	for _, p := range r.places {
		if !slices.Contains(types, p.Type) {
			types = append(types, p.Type)
			r.section(&out, p)
		}
	}
	maskingNames(&out)
	dangers(&out)
	return out.String()
}

// dangers describes the hazards that validate reports.
func dangers(out *strings.Builder) {
	out.WriteString("\n## What is dangerous\n\n" +
		"Trust a configuration like code: whoever writes it can run commands as the workers' user. `starter validate` lists dangerous " +
		"settings first, and `--strict` refuses them. It also checks the connection to PostgreSQL: a database on another host is refused " +
		"without `sslmode`.\n\n" +
		"| setting | severity | effect | instead |\n|---|---|---|---|\n")
	for _, h := range hazards {
		var keys []string
		for _, field := range h.fields {
			if key := "`" + keyOf(field) + "`"; !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", cmp.Or(strings.Join(keys, ", "), "any text"), h.severity, h.what, h.instead)
	}
}

// keyOf returns the first key of a Go field, Type.Field, or an empty string.
func keyOf(name string) string {
	for _, p := range strict.Places(reflect.TypeFor[config.Config]()) {
		for key, f := range p.Schema.Fields {
			if f.Owner+"."+f.Name == name {
				return strings.TrimPrefix(p.At+"."+key, ".")
			}
		}
	}
	return ""
}

// maskingNames lists the names that data_masking may use.
func maskingNames(out *strings.Builder) {
	out.WriteString("\n## Masking patterns\n\n| pattern | finds |\n|---|---|\n")
	for _, name := range mask.Names() {
		fmt.Fprintf(out, "| `%s` | %s |\n", name, mask.Describe(name))
	}
	out.WriteString("\n| group | for | patterns |\n|---|---|---|\n")
	groups := mask.Groups()
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", name, mask.Describe(name), strings.Join(groups[name], ", "))
	}
}

// section describes the keys of a type, and where they are allowed.
func (r *manual) section(out *strings.Builder, p strict.Place) {
	var at []string
	for _, same := range r.places {
		if same.Type == p.Type && same.At != "" {
			at = append(at, "`"+same.At+"`")
		}
	}
	title, about := "The top", "The top-level keys of a configuration."
	if len(at) > 0 {
		title, about = strings.Join(at, ", "), r.comments[p.Type.Name()]
	}
	fmt.Fprintf(out, "\n### %s\n\n%s\n\n| key | value | default | |\n|---|---|---|---|\n", title, about)
	for _, key := range p.Schema.Order {
		row := []string{"`" + key + "`", r.value(p, key), r.standard(p, key), r.comment(p, key)}
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
	}
	for _, key := range slices.Sorted(maps.Keys(p.Schema.Foreign)) {
		fmt.Fprintf(out, "\n`%s` is refused: %s.\n", key, p.Schema.Foreign[key])
	}
	for _, key := range slices.Sorted(maps.Keys(p.Schema.Unused)) {
		fmt.Fprintf(out, "\n`%s` is accepted but has no effect: %s.\n", key, p.Schema.Unused[key])
	}
}

// value describes the allowed values of a key.
func (r *manual) value(p strict.Place, key string) string {
	f := p.Schema.Fields[key]
	t := p.Type.FieldByIndex(f.Index).Type
	if f.Open {
		t = t.Elem()
	}
	text := typeText(t, f)
	if unit := tagOf(p, key).Get("unit"); unit != "" {
		text += " (" + unit + ")"
	}
	if f.Late {
		text += ", expanded when it is used"
	}
	return text
}

func typeText(t reflect.Type, f strict.Field) string {
	switch {
	case strict.IsDuration(t):
		return "duration (`90s`, `1h30m`; a number is seconds)"
	case t == strict.JSONType:
		return "any value"
	case t.Kind() == reflect.Pointer:
		return typeText(t.Elem(), f)
	case t.Kind() == reflect.Struct:
		return "mapping"
	case t.Kind() == reflect.Map:
		return "mapping of names: " + typeText(t.Elem(), f)
	case t.Kind() == reflect.Slice:
		return "list: " + typeText(t.Elem(), f)
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String && f.Enum != "":
		v := vocabularyOf(f.Enum)
		return "`" + strings.Join(append(slices.Clone(v.Words), withoutEmpty(v.Aliases)...), "`, `") + "`"
	case t.Kind() == reflect.String:
		return "text"
	}
	return strict.KindName(t.Kind()) + boundsText(f.Bounds)
}

func withoutEmpty(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
}

func boundsText(b strict.Bounds) (text string) {
	for _, bound := range []struct {
		sign string
		n    *float64
	}{{" ≥ ", b.Min}, {" > ", b.Above}, {" ≤ ", b.Max}} {
		if bound.n != nil {
			text += fmt.Sprintf("%s%v", bound.sign, *bound.n)
		}
	}
	return text
}

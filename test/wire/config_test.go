package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/inquest-dev/inquest/internal/configuration"
)

// loads loads a configuration as the command line does, with a value for every variable.
func loads(dir string) error {
	_, err := configuration.Load(configuration.Source{Dir: dir, SkipCredentials: true, Env: func(string) (string, bool) { return "x", true }})
	return err
}

// TestConfigurations loads the examples and the tested configurations of every release.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	releases(t, func(t *testing.T, dir string) {
		archive, err := txtar.ParseFile(filepath.Join(dir, "config.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]string{} // folders by configuration
		for _, f := range archive.Files {
			name := filepath.Dir(f.Name)
			of[name] = cmp.Or(of[name], t.TempDir())
			if err := os.WriteFile(filepath.Join(of[name], filepath.Base(f.Name)), f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for name, folder := range of {
			if err := loads(folder); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// recordConfig writes the examples and the tested configurations that load, and the schema.
func recordConfig(t *testing.T, dir string) {
	t.Helper()
	archives, err := filepath.Glob("../../internal/configuration/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Glob("../../internal/configuration/testdata/rules/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out txtar.Archive
	addFiles := func(name string, files []txtar.File) {
		files = slices.DeleteFunc(files, func(f txtar.File) bool { return filepath.Ext(f.Name) != ".yaml" })
		folder := t.TempDir()
		for i, f := range files {
			if err := os.WriteFile(filepath.Join(folder, filepath.Base(f.Name)), f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			files[i].Name = name + "/" + filepath.Base(f.Name)
		}
		if len(files) > 0 && loads(folder) == nil {
			out.Files = append(out.Files, files...)
		}
	}
	for _, name := range append(archives, rules...) {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		addFiles(strings.TrimSuffix(filepath.Base(name), ".txtar"), archive.Files)
	}
	examples, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(examples, "../../internal/face/cli/configure/init.yaml") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		addFiles("example-"+filepath.Base(filepath.Dir(name)), []txtar.File{{Name: filepath.Base(name), Data: text}})
	}
	create(t, filepath.Join(dir, "config.txtar"), txtar.Format(&out))
	text, err := json.Marshal(plain(read[any](t, configSchema)))
	if err != nil {
		t.Fatal(err)
	}
	create(t, filepath.Join(dir, "config.schema.json"), append(text, '\n'))
}

const configSchema = "../../docs/reference/config.schema.json"

// plain removes the descriptions from a schema.
func plain(schema any) any {
	if list, ok := schema.([]any); ok {
		for _, one := range list {
			plain(one)
		}
	}
	object, _ := schema.(map[string]any)
	for key, value := range object {
		if _, text := value.(string); text && key == "description" {
			delete(object, key)
		}
		plain(value)
	}
	return schema
}

// schemas compares the configuration schemas of an older release and this build.
type schemas struct {
	old, now map[string]any // definitions
	seen     map[string]bool
	problems []string
}

// TestConfigurationSchema checks that every key, type and word that a release accepted is accepted.
func TestConfigurationSchema(t *testing.T) {
	t.Parallel()
	now := read[map[string]any](t, configSchema)
	releases(t, func(t *testing.T, dir string) {
		old := read[map[string]any](t, filepath.Join(dir, "config.schema.json"))
		s := schemas{old: objectIn(old, "$defs"), now: objectIn(now, "$defs"), seen: map[string]bool{}}
		s.compare("config", old, now)
		if len(s.seen) < 40 {
			t.Errorf("%d definitions", len(s.seen))
		}
		for _, problem := range s.problems {
			t.Error(problem)
		}
	})
}

func objectIn(schema map[string]any, key string) map[string]any {
	object, _ := schema[key].(map[string]any)
	return object
}

// compare reports what the old schema accepts and the new one does not. Schemas have the form that jsonschema_test.go of
// internal/configuration writes.
func (s *schemas) compare(at string, old, now map[string]any) {
	if len(now) == 0 { // any value
		return
	}
	if ref, ok := old["$ref"].(string); ok {
		name, _ := now["$ref"].(string)
		if s.seen[ref+name] {
			return
		}
		s.seen[ref+name] = true
	}
	old, now = referenced(s.old, old), referenced(s.now, now)
	accepted := words(s.now, now)
	for word := range words(s.old, old) {
		if !accepted[word] {
			s.problems = append(s.problems, at+": no longer accepts "+word)
		}
	}
	for _, group := range []string{"properties", "patternProperties"} {
		before, after := objectIn(old, group), objectIn(now, group)
		for key := range before {
			if after[key] == nil {
				s.problems = append(s.problems, at+"."+key+": the key is lost")
				continue
			}
			s.compare(at+"."+key, objectIn(before, key), objectIn(after, key))
		}
	}
	for _, part := range []string{"items", "additionalProperties"} {
		if objectIn(old, part) != nil {
			s.compare(at+"[]", objectIn(old, part), objectIn(now, part))
		}
	}
}

func referenced(definitions, schema map[string]any) map[string]any {
	if ref, ok := schema["$ref"].(string); ok {
		return objectIn(definitions, strings.TrimPrefix(ref, "#/$defs/"))
	}
	return schema
}

// words returns the types, and the words of lists, that a schema accepts.
func words(definitions, schema map[string]any) map[string]bool {
	out := map[string]bool{}
	for _, key := range []string{"type", "enum"} {
		list, isList := schema[key].([]any)
		if !isList && schema[key] != nil {
			list = []any{schema[key]}
		}
		for _, word := range list {
			out[fmt.Sprintf("%s %v", key, word)] = true
		}
	}
	alternatives, _ := schema["anyOf"].([]any)
	for _, one := range alternatives {
		alternative, _ := one.(map[string]any)
		maps.Copy(out, words(definitions, referenced(definitions, alternative)))
	}
	return out
}

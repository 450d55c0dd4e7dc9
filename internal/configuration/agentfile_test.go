package configuration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestAgentFileKeepsEverything checks that an entry keeps its meaning when it is written as YAML.
func TestAgentFileKeepsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		want := section{"v": anyJSON(t, 3)}
		body, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		text, err := agentYAML("A", body)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "a.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := AgentEntry(file, "A")
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if diff := cmp.Diff(decoded(t, body), decoded(t, got)); diff != "" {
			t.Errorf("-want +got:\n%s\nwritten as\n%s", diff, text)
		}
	})
}

func decoded(t *rapid.T, body []byte) (out any) {
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// anyJSON returns a value with lists and mappings up to a nesting depth.
func anyJSON(t *rapid.T, depth int) any {
	kinds := 5
	if depth > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"yes", "null", "~", "1e3", "0x10", "2026-01-02", "{{.V}}", "{.V}", "- x", "a: b", " # x", "\n", "a\n b\n\n", "\t", "<<",
			"!!str", "*a", "&a",
		})).Draw(t, "text")
	case 1:
		return rapid.Int64().Draw(t, "number")
	case 2:
		return rapid.Float64().Draw(t, "float")
	case 3:
		return rapid.Bool().Draw(t, "truth")
	case 4:
		return ""
	case 5:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, anyJSON(t, depth-1))
		}
		return list
	}
	mapping := section{}
	for _, key := range rapid.SliceOfNDistinct(rapid.OneOf(rapid.StringN(1, 10, -1), rapid.SampledFrom([]string{"yes", "1", "a.b", "<<"})), 0,
		3, rapid.ID[string]).Draw(t, "keys") {
		mapping[key] = anyJSON(t, depth-1)
	}
	return mapping
}

// TestAgentEntry checks that an entry is returned as written, and not at all if it is written twice.
func TestAgentEntry(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ yaml, want string }{
		"numbers in full": {"agents: {A: {max_tokens: 12345678901234567890123, temperature: 1.0}}",
			`{"max_tokens":12345678901234567890123,"temperature":1.0}`},
		"templates":     {"agents: {A: {description: '{{.V}}'}}", `{"description":"{{.V}}"}`},
		"none":          {"agents: {B: {}}", ``},
		"written twice": {"agents:\n  A:\n    type: llm\n    type: react", "a.yaml:4: agents.A.type: duplicate key; first on line 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "a.yaml")
			if err := os.WriteFile(file, []byte(tt.yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := AgentEntry(file, "A")
			if err != nil {
				got = []byte(err.Error())
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

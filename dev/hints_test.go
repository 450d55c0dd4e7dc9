package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/configuration"
)

// dev suggests the user's own chain, and the sample only without one.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	const head = "llm_providers: {m: {type: ollama, model: l}}\ndefaults: {llm_provider: m}\nagents: {A: {}}\n"
	for name, tt := range map[string]struct{ text, alert, want string }{
		"no chain": {head, "", "--alert-type sample-incident --data @data/sample-incident/alert.json"},
		"an alert type, and init's alert": {head + `agent_chains: {z: {alert_types: [Disk full], stages: [{name: s, agents: [{name: A}]}]},
  a: {stages: [{name: s, agents: [{name: A}]}]}}`, "{}", "--alert-type 'Disk full' --data @DIR/alert.json"},
		"a chain alone": {head + "agent_chains: {a: {stages: [{name: s, agents: [{name: A}]}]}}", "", "--chain a --data 'what happened'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "inquest.yaml")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.alert != "" {
				if err := os.WriteFile(filepath.Join(dir, "alert.json"), []byte(tt.alert), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c, err := configuration.Load(configuration.Source{Dir: dir, SkipCredentials: true})
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(tt.want, "DIR", dir)
			for _, path := range []string{dir, file} {
				if got := firstRun(c, path, "data"); got != want {
					t.Errorf("%s: got %s, want %s", path, got, want)
				}
			}
		})
	}
}

package chaindraw

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/configuration"
)

// A picture is XML with every box and label, whatever their names, and everything is within the visible area.
func TestSVG(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const file = `
agents: {Own: {}, "L&": {sub_agents: [Own]}}
agent_chains:
  loops:
    stages:
      - {name: plan, agents: [{name: Own}], output_key: plan,
         routing: {rules: [{condition: 'plan.<kind> & "x"', value: "a<b", next_stage: judge}], default: act}}
      - {name: act, agents: [{name: Own}]}
      - {name: judge, agents: [{name: Own}]}
  deep: {stages: [{name: a, agents: [{name: "L&"}]}]}
  line: {stages: [{name: a, agents: [{name: Own}]}, {name: b, agents: [{name: Own}, {name: Own}]}]}
`
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _ := configuration.Check(configuration.Source{Dir: dir, Env: func(string) (string, bool) { return "", false }, SkipCredentials: true})
	for chain := range cfg.AgentChains {
		graph, err := configuration.GraphOf(cfg, chain)
		if err != nil {
			t.Fatal(err)
		}
		d := New(graph, UnattendedOf(cfg, chain))
		texts := map[string]bool{}
		decoder := xml.NewDecoder(strings.NewReader(d.SVG()))
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", chain, err, d.SVG())
			}
			if text, ok := token.(xml.CharData); ok {
				texts[string(text)] = true
			}
		}
		for _, b := range d.boxes {
			if !texts[b.name] {
				t.Errorf("%s: there is no %q", chain, b.name)
			}
			for _, line := range b.dispatches() {
				if !texts[line] || strings.Count(d.SVG(), `<rect class="dashed"`) != 1 {
					t.Errorf("%s: there is no %q in a dashed box", chain, line)
				}
			}
		}
		for _, l := range d.lines {
			if n := d.number(l.to) - d.number(l.from); n != 1 && !texts[l.label] {
				t.Errorf("%s: there is no %q", chain, l.label)
			}
		}
	}
}

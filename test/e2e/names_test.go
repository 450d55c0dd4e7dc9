package e2e

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

const anyNamesConfig = `
llm_providers:
  lab-model: {type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
defaults: {llm_provider: lab-model}
agents:
  Prüfer: {}
  検査: {}
agent_chains:
  Störung:
    alert_types: [Störung]
    stages:
      - {name: prüfen, agents: [{name: Prüfer}, {name: 検査}]}
`

// Chains, stages, agents and workflows may be named in any script.
func TestAnyNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, llmtest.Always(llmtest.Text("es war die Platte")), anyNamesConfig)
	w.dev()
	for _, flags := range [][]string{nil, {"--workflow-id", "nächtlich 点検"}} {
		out := w.must(append([]string{"run", "--chain", "Störung", "--data", "x"}, flags...)...)
		if !strings.Contains(out, "es war die Platte") {
			t.Errorf("%q prints\n%s", flags, out)
		}
	}
	for _, command := range []string{"status", "show", "report"} {
		if out := w.must(command, "nächtlich 点検"); !strings.Contains(out, "nächtlich 点検") {
			t.Errorf("%s prints\n%s", command, out)
		}
	}
}

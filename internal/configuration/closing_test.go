package configuration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/plan"
)

// TestScoringOnDemand checks that a requested score gets a judge even if the chain does not enable scoring.
func TestScoringOnDemand(t *testing.T) {
	t.Parallel()
	const file = `
llm_providers: {p: {type: scripted, model: m}, q: {type: scripted, model: m}}
defaults: {llm_provider: p}
agents: {A: {}, Judge: {type: scoring}}
agent_chains:
  plain: {stages: [{name: s, agents: [{name: A}]}]}
  off: {scoring: {enabled: false, agent: Judge, llm_provider: q}, stages: [{name: s, agents: [{name: A}]}]}
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Source{Dir: dir, Env: lookupIn(nil)})
	if err != nil {
		t.Fatal(err)
	}
	for chain, want := range map[string]string{"plain": "ScoringAgent by p", "off": "Judge by q"} {
		stage, err := c.Scoring(chain, "")
		if err != nil || stage.Name != plan.ScoringName || stage.Agents[0].Definition+" by "+stage.Agents[0].Providers[0].Name != want {
			t.Errorf("%s: %+v, %v", chain, stage, err)
		}
	}
	if _, err := c.Scoring("gone", ""); err == nil || !strings.Contains(err.Error(), `unknown chain "gone"`) {
		t.Errorf("of a chain that is not there: %v", err)
	}
}

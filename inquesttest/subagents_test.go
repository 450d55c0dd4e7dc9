package inquesttest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest"
	"github.com/inquest-dev/inquest/inquesttest"
)

// TestAgentThatDispatchesItself has an agent give a part of its work to itself, as deep as max_depth allows.
func TestAgentThatDispatchesItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const config = `
llm_providers: {p: {type: openai, model: gpt-4o}}
defaults: {llm_provider: p}
agents: {Own: {description: digs, sub_agents: [Own], orchestrator: {max_depth: 2}}}
agent_chains: {c: {stages: [{name: s, agents: [{name: Own}]}]}}
`
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	dispatch := func(task string) []inquesttest.Call {
		return []inquesttest.Call{{Tool: "dispatch_agent", Arguments: map[string]any{"name": "Own", "task": task}}}
	}
	w := inquesttest.World{
		Options: inquest.Options{Config: dir},
		Script: []inquesttest.Rule{
			{Seen: "Orders are slow.", Calls: dispatch("Look one level deeper.")},
			{Seen: "one level deeper", Calls: dispatch("Look at the bottom.")},
			{Seen: "at the bottom", Say: "The disk is full."},
			{Seen: "The disk is full.", Say: "Below: The disk is full."},
			{Say: "I wait."},
		},
	}
	result, err := w.Run(t.Context(), inquest.Request{Chain: "c", Data: "Orders are slow."})
	if err != nil || result.Status != "completed" || !strings.HasPrefix(result.Report, "Below: ") {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, asked := range result.Asked {
		last := asked.Messages[len(asked.Messages)-1].Content
		offered := slices.ContainsFunc(asked.Tools, func(o inquest.ModelTool) bool { return o.Name == "dispatch_agent" })
		if bottom := strings.Contains(last, "at the bottom"); offered == bottom {
			t.Errorf("it can dispatch: %t, after %q", offered, last)
		}
	}
}

package configuration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestBoundsInForce checks the limits of a chain that sets none, with their origins.
func TestBoundsInForce(t *testing.T) {
	t.Parallel()
	const passes, calls = "max_passes=3 default, max_agent_hops=21 default",
		"max_passes=3 default, max_llm_calls=10 default, max_agent_hops=21 default"
	tests := map[string]struct{ chain, want string }{
		"nothing routed":        {`stages: [{name: a, agents: [J]}, {name: b, agents: [J]}]`, ""},
		"on an error only":      {`stages: [{name: a, agents: [J], error_next: c}, {name: b, agents: [J]}, {name: c, agents: [J]}]`, passes},
		"back on an error only": {`stages: [{name: a, agents: [J]}, {name: b, agents: [J], error_next: a}]`, passes},
		"forward only":          {`stages: [{name: a, agents: [J], default_next: c}, {name: b, agents: [J]}, {name: c, agents: [J]}]`, passes},
		"back by a rule": {`stages: [{name: a, agents: [J]}, {name: b, agents: [J], routing_rules: [{condition: x, value: 1, ` +
			`target: a}]}]`, calls},
		"back by default":          {`stages: [{name: a, agents: [J], default_next: a}]`, calls},
		"back by a loop target":    {`stages: [{name: a, agents: [J]}, {name: b, agents: [J], loop_target: b}]`, calls},
		"a loop target further on": {`stages: [{name: a, agents: [J], loop_target: b}, {name: b, agents: [J]}]`, passes},
		"back with an answer": {`{interrupts: {clarification_resume_stage: a}, stages: [{name: a, agents: [J]}, {name: b, agents: [J]}]}`,
			"max_llm_calls=10 default"},
		"a loop with plans of calls": {
			`stages: [{name: a, agents: [J]}, {name: p, agents: [P]}, {name: b, agents: [J], loop_target: a}]`, calls,
		},
		"a loop of agents that iterate": {`stages: [{name: a, agents: [J]}, {name: b, agents: [W], loop_target: a}]`, passes},
		"a loop with one that iterates": {`stages: [{name: a, agents: [J, W]}, {name: b, agents: [J], loop_target: a}]`, passes},
		"a loop that asks no model":     {`stages: [{name: a, agents: [P], loop_target: a}]`, passes},
		"a graph in any order":          {`stages: [{name: a, agents: [J], requires: [b]}, {name: b, agents: [J]}]`, ""},
		"written": {
			"\n    bounds: {max_llm_calls: 7,\n      edge_limits: [{from: a, to: a, max_count: 4}]}\n    budgets:\n      max_tokens_total: " +
				"1000\n    timeout: 2m\n" +
				"    stages: [{name: a, agents: [J], loop_target: a}]",
			"max_passes=3 default, max_llm_calls=7 a.yaml:7, max_agent_hops=21 default, edge_limits a→a=4 a.yaml:8, " +
				"max_tokens_total=1000 a.yaml:10, max_cost_usd=0.5 a.yaml:3, timeout=2m a.yaml:11",
		},
	}
	const head = "agents: {J: {type: llm}, W: {}, P: {type: tool_plan}}\nllm_providers: {m: {type: openai, model: m, prices: {input: 1}}}\n" +
		"defaults: {llm_provider: m}\nagent_chains:\n  c:\n    "
	names := strings.NewReplacer("[J]", "[{name: J}]", "[W]", "[{name: W}]", "[P]", "[{name: P}]", "[J, W]", "[{name: J}, {name: W}]")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, chain := t.TempDir(), names.Replace(tt.chain)
			if strings.HasPrefix(chain, "stages") {
				chain = "{" + chain + "}"
			}
			text := head + chain
			if name == "written" {
				text = strings.Replace(text, "llm_provider: m", "llm_provider: m, budgets: {max_cost_usd: 0.5}", 1)
			}
			if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := Load(Source{Dir: dir, Env: lookupIn(map[string]string{"OPENAI_API_KEY": "k"})})
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.Plan(agent.Request{Chain: "c"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range p.Bounds.InForce(p.Timeout, plan.Extension{}, 0) {
				got = append(got, b.Name+"="+b.Limit+" "+b.From)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

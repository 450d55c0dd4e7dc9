package configuration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

func TestListPrices(t *testing.T) {
	t.Parallel()
	sonnet := plan.Prices{Input: 3, Output: 15, CacheRead: 0.30, CacheWrite: 3.75}
	tests := []struct {
		name     string
		provider config.Provider
		want     plan.Prices
	}{
		{"a model", config.Provider{Type: "openai", Model: "gpt-4o-mini"}, plan.Prices{Input: 0.15, Output: 0.60, CacheRead: 0.075}},
		{"one whose name begins alike", config.Provider{Type: "openai", Model: "gpt-4o-mini-tts"}, plan.Prices{}},
		{"of a date", config.Provider{Type: "openai", Model: "gpt-4o-2024-08-06"}, plan.Prices{Input: 2.50, Output: 10, CacheRead: 1.25}},
		{"of another date", config.Provider{Type: "anthropic", Model: "claude-sonnet-4-20250514"}, sonnet},
		{"with a version", config.Provider{Type: "anthropic", Model: "claude-sonnet-4-5-20250929"}, sonnet},
		{"with a path", config.Provider{Type: "google", Model: "models/gemini-2.5-pro"}, plan.Prices{
			Input: 1.25, Output: 10, CacheRead: 0.125, LongPrompts: plan.LongPrompts{Over: 200_000, Input: 2, Output: 1.5}}},
		{"whose long prompts are dear", config.Provider{Type: "anthropic", Model: "claude-haiku-5-5"}, plan.Prices{
			Input: 0.10, Output: 0.50, CacheRead: 0.01, CacheWrite: 0.125, LongPrompts: plan.LongPrompts{Over: 100_000, Input: 5, Output: 5}}},
		{"that charges for the cache", config.Provider{Type: "openai", Model: "gpt-6.1-terra"}, plan.Prices{
			Input: 1, Output: 5, CacheRead: 0.05, CacheWrite: 1.25, LongPrompts: plan.LongPrompts{Over: 272_000, Input: 2, Output: 1.5}}},
		{"an unknown one", config.Provider{Type: "openai", Model: "gpt-99"}, plan.Prices{}},
		{"another provider's", config.Provider{Type: "ollama", Model: "gpt-4o"}, plan.Prices{}},
		{"behind a proxy", config.Provider{Type: "openai", Model: "gpt-4o", BaseURL: "https://proxy.example/v1"}, plan.Prices{}},
		{"with prices of one's own",
			config.Provider{Type: "openai", Model: "gpt-4o", Prices: config.Prices{Input: new(1.0), Reasoning: new(2.0)}},
			plan.Prices{Input: 1, Reasoning: 2}},
		{"with long prompts of one's own",
			config.Provider{Type: "openai", Model: "gpt-4o", Prices: config.Prices{LongPrompts: config.LongPrompts{Over: new(9), Input: new(2.0)}}},
			plan.Prices{Input: 2.50, Output: 10, CacheRead: 1.25, LongPrompts: plan.LongPrompts{Over: 9, Input: 2}}},
		{"that is free",
			config.Provider{Type: "ollama", Model: "m", Prices: config.Prices{Input: new(0.0), Output: new(0.0)}}, plan.Prices{Free: true}},
		{"that is free, with another list price", config.Provider{Type: "openai", Model: "gpt-4o", Prices: config.Prices{Input: new(0.0)}},
			plan.Prices{Free: true}},
		{"with free input",
			config.Provider{Type: "ollama", Model: "m", Prices: config.Prices{Input: new(0.0), Output: new(2.0)}}, plan.Prices{Output: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, plannedProvider(&tt.provider, "p", config.BackendLangChain, config.NativeTools{}).Prices); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestBudgetOfFreeModel checks that a budget of money accepts a price of 0, and refuses an absent one: validation with an error, plans
// too, and workers with a warning.
func TestBudgetOfFreeModel(t *testing.T) {
	t.Parallel()
	for prices, refusal := range map[string]string{
		"{input: 0, output: 0}": "", "{input: 0}": "", "{output: 0}": "",
		"{}": "llm_providers.m has no prices, but the chain has a budget of max_cost_usd",
	} {
		dir := t.TempDir()
		text := "llm_providers: {m: {type: openai, model: own, base_url: 'http://localhost:1/v1', prices: " + prices + "}}\n" +
			"defaults: {llm_provider: m, budgets: {max_cost_usd: 0.5}}\nagents: {A: {}}\n" +
			"agent_chains: {c: {stages: [{name: s, agents: [{name: A}]}]}, d: {stages: [{name: s, agents: [{name: A}]}]}}\n"
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		src := Source{Dir: dir, Env: lookupIn(nil)}
		c, err := Load(src)
		if err != nil {
			t.Fatal(err)
		}
		src.Validating = true
		_, planErr := c.Plan(agent.Request{Chain: "c"})
		_, loadErr := Load(src)
		for who, got := range map[string]string{
			"plan": fmt.Sprint(planErr), "validate": fmt.Sprint(loadErr), "worker": fmt.Sprint(c.Warnings()),
		} {
			refused := strings.Count(got, "no prices")
			if (refusal == "") != (refused == 0) || refused > 1 || !strings.Contains(got, refusal) {
				t.Errorf("prices %s: %s: got %q, want %q", prices, who, got, refusal)
			}
			if refused > 0 && who != "plan" && !strings.Contains(got, "investigations of c, d cannot start: ") {
				t.Errorf("%s: %s", who, got)
			}
		}
	}
}

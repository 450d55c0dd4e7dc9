package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/plan"
)

func TestListPrices(t *testing.T) {
	t.Parallel()
	sonnet := plan.Prices{Input: 3, Output: 15, CacheRead: 0.30, CacheWrite: 3.75}
	tests := []struct {
		name     string
		provider Provider
		want     plan.Prices
	}{
		{"a model", Provider{Type: "openai", Model: "gpt-4o-mini"}, plan.Prices{Input: 0.15, Output: 0.60, CacheRead: 0.075}},
		{"one whose name begins alike", Provider{Type: "openai", Model: "gpt-4o-mini-tts"}, plan.Prices{}},
		{"of a date", Provider{Type: "openai", Model: "gpt-4o-2024-08-06"}, plan.Prices{Input: 2.50, Output: 10, CacheRead: 1.25}},
		{"of another date", Provider{Type: "anthropic", Model: "claude-sonnet-4-20250514"}, sonnet},
		{"with a version", Provider{Type: "anthropic", Model: "claude-sonnet-4-5-20250929"}, sonnet},
		{"with a path", Provider{Type: "google", Model: "models/gemini-2.5-pro"}, plan.Prices{
			Input: 1.25, Output: 10, CacheRead: 0.125, LongPrompts: plan.LongPrompts{Over: 200_000, Input: 2, Output: 1.5}}},
		{"whose long prompts are dear", Provider{Type: "anthropic", Model: "claude-haiku-5-5"}, plan.Prices{
			Input: 0.10, Output: 0.50, CacheRead: 0.01, CacheWrite: 0.125, LongPrompts: plan.LongPrompts{Over: 100_000, Input: 5, Output: 5}}},
		{"that charges for the cache", Provider{Type: "openai", Model: "gpt-6.1-terra"}, plan.Prices{
			Input: 1, Output: 5, CacheRead: 0.05, CacheWrite: 1.25, LongPrompts: plan.LongPrompts{Over: 272_000, Input: 2, Output: 1.5}}},
		{"an unknown one", Provider{Type: "openai", Model: "gpt-99"}, plan.Prices{}},
		{"another provider's", Provider{Type: "ollama", Model: "gpt-4o"}, plan.Prices{}},
		{"behind a proxy", Provider{Type: "openai", Model: "gpt-4o", BaseURL: "https://proxy.example/v1"}, plan.Prices{}},
		{"with prices of one's own", Provider{Type: "openai", Model: "gpt-4o", Prices: Prices{Input: new(1.0), Reasoning: new(2.0)}},
			plan.Prices{Input: 1, Reasoning: 2}},
		{"with long prompts of one's own",
			Provider{Type: "openai", Model: "gpt-4o", Prices: Prices{LongPrompts: LongPrompts{Over: new(9), Input: new(2.0)}}},
			plan.Prices{Input: 2.50, Output: 10, CacheRead: 1.25, LongPrompts: plan.LongPrompts{Over: 9, Input: 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.provider.plan("p", BackendLangChain, NativeTools{}).Prices); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

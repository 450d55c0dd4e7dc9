package plan_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
)

func TestCost(t *testing.T) {
	t.Parallel()
	all := plan.Prices{Input: 4, Output: 20, CacheRead: 0.4, CacheWrite: 5, Reasoning: 30, Image: 8}
	used := agent.Usage{InputTokens: 1_000_000, OutputTokens: 100_000}
	parts := used
	parts.CacheReadTokens, parts.CacheWriteTokens, parts.ReasoningTokens, parts.ImageTokens = 700_000, 200_000, 60_000, 50_000
	long := all
	long.LongPrompts = plan.LongPrompts{Over: 1_000_000, Input: 2, Output: 1.5}
	longer := parts
	longer.InputTokens++
	tests := []struct {
		name   string
		prices plan.Prices
		usage  agent.Usage
		want   float64
	}{
		{"no prices", plan.Prices{}, parts, 0},
		{"nothing but input and output", all, used, 4 + 2},
		{"parts without prices", plan.Prices{Input: 4, Output: 20}, parts, 4 + 2},
		{"parts", all, parts, 0.28 + 1 + 0.4 + 0.2 + 1.8 + 0.8},
		{"a prompt of usual length", long, parts, 0.28 + 1 + 0.4 + 0.2 + 1.8 + 0.8},
		{"a longer one", long, longer, 2*(0.28+1+0.4+0.2+0.000004) + 1.5*(1.8+0.8)},
		{"images from the cache", plan.Prices{Input: 4, CacheRead: 0.4, Image: 8},
			agent.Usage{InputTokens: 100, CacheReadTokens: 100, ImageTokens: 50}, 0.00004},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.prices.Cost(tt.usage); math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("cost = %v, want %v", got, tt.want)
			}
		})
	}
}

// TestPricesKnown checks that a plan keeps a price of 0 apart from an unknown one, and that the unknown ones of earlier
// versions stay unknown.
func TestPricesKnown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`: false, `{"input":0,"output":0}`: false, `{"free":true}`: true, `{"output":2}`: true, `{"cache_read":1}`: true,
	} {
		var p plan.Prices
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		if p.Known() != want || p.Free && p.Cost(agent.Usage{InputTokens: 1e6, OutputTokens: 1e6}) != 0 {
			t.Errorf("%s: known = %v, want %v; cost = %v", text, p.Known(), want, p.Cost(agent.Usage{InputTokens: 1e6, OutputTokens: 1e6}))
		}
		second, err := json.Marshal(p)
		if err != nil || strings.Contains(string(second), "free") != p.Free {
			t.Errorf("%s: written as %s, %v", text, second, err)
		}
	}
}

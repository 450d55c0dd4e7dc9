package terminal_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/face/terminal"
)

// TestUsage checks that only nonzero kinds of tokens are listed.
func TestUsage(t *testing.T) {
	t.Parallel()
	for want, u := range map[string]agent.Usage{
		"tokens unknown": {},
		"7 tokens in, 3 out · 1 model call · 0 tool calls": {InputTokens: 7, OutputTokens: 3, ModelCalls: 1},
		"1,234 tokens in (1,000 cached, 200 written to the cache, 80 for images), 56 out (20 thinking) · " +
			"2 model calls · 1 tool call · $0.0123": {
			InputTokens: 1234, OutputTokens: 56, CacheReadTokens: 1000, CacheWriteTokens: 200, ImageTokens: 80, ReasoningTokens: 20,
			ModelCalls: 2, ToolCalls: 1, CostUSD: 0.0123,
		},
	} {
		if got := terminal.Usage(u); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

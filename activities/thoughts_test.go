package activities_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/anthropic"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/llm/openai"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// pair is two providers. Each remembers its own model's reasoning and refuses reasoning that is altered or from the other.
type pair struct {
	claude, gpt    *llmtest.Server
	signs, ciphers *llmtest.Signer
}

func (p pair) Client(of plan.Provider, _ plan.Timeouts) (llm.Client, error) {
	key := func() (string, error) { return "key", nil }
	if strings.HasPrefix(of.Model, "claude") {
		return anthropic.New(llm.Options{Name: of.Name, BaseURL: p.claude.GeminiURL, APIKey: key})
	}
	return openai.NewResponses(llm.Options{Name: of.Name, BaseURL: p.gpt.URL, APIKey: key})
}

// TestThoughtsThroughFallbackAndCompression: an agent switches between two providers while its conversation grows and is
// compressed. Each provider gets its own reasoning back unchanged, and none of the other's.
func TestThoughtsThroughFallbackAndCompression(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]int{"whole": 0, "compressed": 6_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pair{signs: llmtest.NewSigner(), ciphers: llmtest.NewSigner()}
			p.claude = llmtest.Start(t, p.signs.Script(busy))
			p.gpt = llmtest.Start(t, p.ciphers.Script(busy))
			b := newBench(t)
			b.run = func(call tool.Call) (tool.Result, error) {
				return tool.Success(strings.Repeat("a line about "+string(call.Arguments)+"\n", 40)), nil
			}
			b.plan(func(a *plan.Agent) {
				a.MaxIterations, a.Compression.MaxContextTokens = 50, window
				a.Providers = []plan.Provider{
					{Name: "claude", Model: "claude-sonnet-4-5", Thinking: agent.Thinking{Mode: agent.ThinkingOn}}, {Name: "gpt", Model: "gpt-5"},
				}
			})
			b.act.Models = p
			for i := range 24 {
				in := activities.GenerateIn{Iteration: i + 1, Provider: i / 6 % 2} // six turns each, alternating
				out, err := b.generate(in)
				if err != nil {
					t.Fatalf("turn %d: %v", i+1, err)
				}
				for n := range out.Calls {
					if _, err := b.callTool(i+1, n); err != nil {
						t.Fatal(err)
					}
				}
			}
			const all = (0 + 5 + 6 + 11) * 6 / 2 // each turn returns the reasoning of the same provider's earlier turns
			if window == 0 && (p.signs.Returned() != all || p.ciphers.Returned() != all) {
				t.Errorf("%d and %d thoughts came back, want %d", p.signs.Returned(), p.ciphers.Returned(), all)
			}
			if p.signs.Returned() < 12 || p.ciphers.Returned() < 12 {
				t.Errorf("%d and %d thoughts came back", p.signs.Returned(), p.ciphers.Returned())
			}
		})
	}
}

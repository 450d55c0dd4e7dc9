package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// cachesConfig is one agent of 40 iterations; the %s are its provider and the backend.
const cachesConfig = `
llm_providers:
  lab-model: %s
mcp_servers:
  lab: {transport: {type: stdio, command: "{{.E2E_TOOLS}}"}}
defaults: {llm_provider: lab-model, llm_backend: %s}
agents:
  Alpha: {description: digs, mcp_servers: [lab]}
agent_chains:
  lab:
    alert_types: [lab]
    stages: [{name: dig, agents: [{name: Alpha, max_iterations: 40}]}]
`

// TestCacheIsReadThroughAKill runs an agent of 40 iterations whose worker is killed half-way. It reads at least
// 80 % of its input from the cache of a provider that counts as the real one does, and the result contains the
// cost.
func TestCacheIsReadThroughAKill(t *testing.T) {
	t.Parallel()
	const rest = `, api_key_env: E2E_KEY, prices: {input: 10, output: 10, cache_read: 1}}`
	for name, tt := range map[string]struct {
		backend, provider string
		cache             interface {
			Script(llmtest.Script) llmtest.Script
		}
	}{
		"anthropic": {"native-gemini", `{type: anthropic, model: claude-sonnet-4-6, base_url: "{{.E2E_GEMINI}}"`, llmtest.NewClaudeCache()},
		"responses": {"langchain", `{type: openai, model: gpt-5.6, api: responses, base_url: "{{.E2E_MODEL}}"`, llmtest.NewBreakpointCache()},
		"chat":      {"langchain", `{type: openai, model: gpt-4o, base_url: "{{.E2E_MODEL}}"`, llmtest.NewPromptCache(1024, 128)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold := llmtest.NewHold()
			script := func(req llmtest.Request) llmtest.Reply {
				turn := turnOf(req)
				if strings.Contains(req.Last().Text(), "Tools are no longer available") {
					return llmtest.Text("the disk")
				}
				args := fmt.Sprintf(`{"bytes":3000,"last":"line %d"}`, turn)
				reply := llmtest.Calls(llmtest.Call{ID: fmt.Sprint("c", turn), Name: "lab__log", Args: args}).Text(fmt.Sprintf("Step %d.", turn))
				if turn == 20 {
					return reply.Chunked(3, 0).Hold(hold, 1)
				}
				return reply
			}
			w := newWorld(t, tt.cache.Script(script), fmt.Sprintf(cachesConfig, tt.provider+rest, tt.backend))
			w.dev("--no-worker")
			victim := w.worker()
			w.begin("lab")
			hold.Wait(t)
			victim.kill()
			hold.Release()
			w.worker()
			result := w.end("lab")
			u := result.Usage
			t.Logf("%d of %d tokens come from the cache: %d %%", u.CacheReadTokens, u.InputTokens, u.CacheReadTokens*100/u.InputTokens)
			if result.Status != agent.StatusCompleted || u.ModelCalls < 40 || u.CacheReadTokens*100 < u.InputTokens*80 {
				t.Errorf("%+v", result)
			}
			cost := float64(10*(u.InputTokens-u.CacheReadTokens)+u.CacheReadTokens+10*u.OutputTokens) / 1e6
			if math.Abs(u.CostUSD-cost) > 1e-6 {
				t.Errorf("it costs %v, want %v", u.CostUSD, cost)
			}
		})
	}
}

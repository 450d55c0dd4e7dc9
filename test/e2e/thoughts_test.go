package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/workflows"
)

// TestKillBetweenThoughts kills a worker between two turns of an agent whose model signs what it
// thinks. The provider refuses thoughts that were changed: those of the turns before come back, by
// another process, as they were signed, and none is left out.
func TestKillBetweenThoughts(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]string{
		"anthropic": `{type: anthropic, model: claude-sonnet-4-5, thinking: "on", base_url: "{{.E2E_GEMINI}}", api_key_env: E2E_KEY}`,
		"responses": `{type: openai, model: gpt-5-lab, api: responses, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, signer := newScript(), llmtest.NewSigner()
			l.heldAt = "Alpha 3"
			config := strings.Replace(labConfig, `{type: openai, model: lab-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}`, provider, 1)
			if name == "anthropic" {
				config = strings.Replace(config, "defaults:\n", "defaults:\n  llm_backend: native-gemini\n", 1)
			}
			w := newWorld(t, signer.Script(l.script()), config)
			w.dev("--no-worker")
			victim := w.worker()
			id := workflows.InvestigationID("lab", w.begin("lab").GetRunID())
			l.hold.Wait(t)
			w.until(id, func(e transcript.Entry) bool { return e.Text == "beta knows five" })
			before := signer.Returned()
			victim.kill()
			l.hold.Release()
			w.worker()
			if result := w.end("lab"); result.Status != agent.StatusCompleted || result.Report != "the report of gamma" {
				t.Errorf("result after the kill: %+v", result)
			}
			var alpha []string // how many thoughts each request of Alpha's gave back
			for _, req := range w.model.Requests() {
				signed := 0
				for _, m := range req.Messages {
					if m.Role == string(agent.Assistant) && m.Signature == "" {
						t.Errorf("%s: a turn came back without its thoughts", who(req))
					}
					if m.Signature != "" {
						signed++
					}
				}
				if who(req) == "Alpha" {
					alpha = append(alpha, fmt.Sprint(signed))
				}
			}
			if want := []string{"0", "1", "2", "2"}; !slices.Equal(alpha, want) || signer.Returned() <= before {
				t.Errorf("Alpha's requests gave %v thoughts back, want %v", alpha, want)
			}
		})
	}
}

package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/llm/openai"
)

// TestThinkingOff checks that an effort of none is requested from OpenAI models that have it, and from other vendors'
// models.
func TestThinkingOff(t *testing.T) {
	t.Parallel()
	for model, want := range map[string][2]string{ // with chat completions, and with the Responses API
		"gpt-5.5": {"none", `{"effort":"none"}`}, "gpt-4o": {}, "o3": {"", `{"summary":"auto"}`}, "gpt-5.1-chat-latest": {},
		"qwen3": {"none", ""},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			req := ask("why?")
			req.Model, req.Thinking.Mode = model, agent.ThinkingOff
			sent := func(open func(*testing.T, string) *openai.Client) []byte {
				srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
				if _, err := open(t, srv.URL).Generate(t.Context(), req, nil); err != nil {
					t.Fatal(err)
				}
				return srv.Wait(1).Body
			}
			var chat struct {
				Effort string `json:"reasoning_effort"`
			}
			if err := json.Unmarshal(sent(open), &chat); err != nil || chat.Effort != want[0] {
				t.Errorf("chat completions: effort %q, %v", chat.Effort, err)
			}
			if got := reasoningOf(t, sent(openResponses)); got != want[1] {
				t.Errorf("responses: %s", got)
			}
		})
	}
}

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// resultsConfig is one agent whose results a second model summarises.
const resultsConfig = `
llm_providers:
  large: {type: openai, model: large-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
  small: {type: openai, model: small-1, base_url: "{{.E2E_MODEL}}", api_key_env: E2E_KEY}
mcp_servers:
  lab:
    transport: {type: stdio, command: "{{.E2E_TOOLS}}"}
    summarization: {size_threshold_tokens: 1000, llm_provider: small}
agents:
  Reader: {mcp_servers: [lab]}
agent_chains:
  results:
    alert_types: [results]
    llm_provider: large
    stages: [{name: read, agents: [{name: Reader}]}]
`

// TestLargeResult: the model receives a summary and reads the rest itself. A kill between the summary and the
// next reply does not cause a second summary.
func TestLargeResult(t *testing.T) {
	t.Parallel()
	const size = 200_000
	hold := llmtest.NewHold()
	replies := []llmtest.Reply{
		llmtest.Calls(llmtest.Call{Name: "lab__big", Args: fmt.Sprintf(`{"bytes":%d}`, size)}),
		llmtest.Calls(llmtest.Call{Name: agent.ToolReadResult,
			Args: `{"ref":"1/0","offset":190000}`}).Text("to the end").Chunked(4, 0).Hold(hold, 1),
		llmtest.Text("it ends with x"),
	}
	w := newWorld(t, func(req llmtest.Request) llmtest.Reply {
		if req.Model == "small-1" {
			return llmtest.Text("nothing but x").Usage(3000, 4)
		}
		return replies[turnOf(req)-1]
	}, resultsConfig)
	victim := w.dev()
	w.beginWith("big", agent.Request{Chain: "results", Data: json.RawMessage(`"how does it end?"`)})
	hold.Wait(t)
	victim.kill()
	hold.Release()
	w.dev()
	result := w.end("big")
	if result.Status != agent.StatusCompleted || result.Report != "it ends with x" || result.Usage.ModelCalls != 4 ||
		result.Usage.InputTokens < 3000 {
		t.Errorf("result: %+v", result)
	}

	var summaries int
	shown := map[int]string{} // the last message, by turn
	for _, req := range w.model.Requests() {
		if req.Model == "small-1" {
			summaries++
			continue
		}
		shown[turnOf(req)] = req.Last().Text()
	}
	if summaries != 1 {
		t.Errorf("%d summaries were asked for", summaries)
	}
	if want := fmt.Sprintf("nothing but x\n[Summary of a result of %d bytes; complete result: read_result {\"ref\": \"1/0\"}]",
		size); shown[2] != want {
		t.Errorf("turn 2 was shown %.300s, want %s", shown[2], want)
	}
	if want := fmt.Sprintf("[bytes 190000–%d of %d; the end]\n%s", size, size, strings.Repeat("x", 10_000)); shown[3] != want {
		t.Errorf("turn 3 was shown %.300s", shown[3])
	}
}

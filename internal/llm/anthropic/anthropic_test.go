package anthropic_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/anthropic"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

const secret = "sk-ant-my-very-own/key+with=signs"

func open(t *testing.T, baseURL string) *anthropic.Client {
	t.Helper()
	key := func() (string, error) { return secret, nil }
	client, err := anthropic.New(llm.Options{Name: "test", BaseURL: baseURL, APIKey: key, IdleTimeout: llmtest.Idle,
		Dialect: agent.Dialect{WrittenCalls: true}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestClient(t *testing.T) {
	t.Parallel()
	llmtest.RunClient(t, llmtest.Anthropic, func(baseURL string) llm.Client { return open(t, baseURL) })
}

// FuzzStream checks that any answer of a server gives a reply or an error.
func FuzzStream(f *testing.F) {
	const end = "\n\n" + `data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}` + "\n\n"
	llmtest.FuzzStream(f, func(t *testing.T, baseURL string) llm.Client { return open(t, baseURL) },
		`data: {"type":"content_block_start","content_block":{"type":"tool_use","id":"a","name":"f","input":[1]}}`+end,
		`data: {"type":"content_block_start","index":-1,"content_block":null}`+"\n\n"+
			`data: {"type":"content_block_delta","index":9,"delta":{"thinking":"x"}}`+end,
		`data: {"type":"content_block_delta","index":9,"delta":{"text":"x"}}`+end, `data: {"type":"message_stop"}`, `data: null`, "data: []\n\n",
		`data: {"type":"message_start","message":{"content":[null],"usage":null,"stop_reason":"end_turn"}}`, `{"type":"error"}`,
		`{"content":[null],"stop_reason":"x"}`,
		`data: {"type":"content_block_start","content_block":{"type":"redacted_thinking"}}`+end, `data: {"type":"error","error":{"details":"x"}}`,
	)
}

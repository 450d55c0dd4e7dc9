package anthropic_test

import (
	"fmt"
	"net/http"
	"strings"
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

// TestRequestID checks that a long refusal keeps the ID of the request, and no part of the key.
func TestRequestID(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("0123456789", 10)
	for before := 300; before < 520; before += 20 {
		body := fmt.Sprintf(`{"error": {"type": "api_error", "message": %q}, "request_id": "req_1"}`, strings.Repeat("x ", before/2)+key)
		srv := llmtest.Start(t, llmtest.Always(llmtest.Status(http.StatusInternalServerError, body)))
		client, err := anthropic.New(llm.Options{Name: "test", BaseURL: srv.URL, APIKey: func() (string, error) { return key, nil }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Generate(t.Context(), llm.Request{Model: "m", MaxTokens: 1}, nil)
		if err == nil || strings.Contains(err.Error(), key[:4]) || !strings.HasSuffix(err.Error(), " (request req_1)") {
			t.Errorf("the key after %d characters: %v", before, err)
		}
	}
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

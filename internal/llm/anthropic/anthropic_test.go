package anthropic_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/anthropic"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

const secret = "sk-ant-my-very-own/key+with=signs"

func open(t *testing.T, baseURL string) *anthropic.Client {
	t.Helper()
	key := func() (string, error) { return secret, nil }
	client, err := anthropic.New(llm.Options{Name: "test", BaseURL: baseURL, APIKey: key, IdleTimeout: llmtest.Idle})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestClient(t *testing.T) {
	t.Parallel()
	llmtest.RunClient(t, llmtest.Anthropic, func(baseURL string) llm.Client { return open(t, baseURL) })
}

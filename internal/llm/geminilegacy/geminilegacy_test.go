package geminilegacy_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/geminilegacy"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

const secret = "my-very-own/key+with=signs"

func key(text string) func() (string, error) {
	return func() (string, error) { return text, nil }
}

func open(t *testing.T, baseURL string) *geminilegacy.Client {
	t.Helper()
	client, err := geminilegacy.New(geminilegacy.Options{Name: "test", BaseURL: baseURL, APIKey: key(secret), IdleTimeout: llmtest.Idle})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func ask(content string) llm.Request {
	return llm.Request{Model: "m", Messages: []agent.Message{{Role: agent.User, Content: content}}}
}

func TestClient(t *testing.T) {
	t.Parallel()
	llmtest.RunClient(t, llmtest.GeminiArray, func(baseURL string) llm.Client { return open(t, baseURL) })
}

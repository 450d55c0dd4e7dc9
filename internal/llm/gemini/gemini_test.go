package gemini_test

import (
	"net/http"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/gemini"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

const secret = "my-very-own/key+with=signs"

func key(text string) func() (string, error) {
	return func() (string, error) { return text, nil }
}

func open(t *testing.T, baseURL string) *gemini.Client {
	t.Helper()
	return openWith(t, baseURL, key(secret))
}

func openWith(t *testing.T, baseURL string, key func() (string, error)) *gemini.Client {
	t.Helper()
	client, err := gemini.New(llm.Options{Name: "test", BaseURL: baseURL, APIKey: key, IdleTimeout: llmtest.Idle})
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
	llmtest.RunClient(t, llmtest.Gemini, func(baseURL string) llm.Client { return open(t, baseURL) })
}

// TestClientOfNumbers checks numeric enums.
func TestClientOfNumbers(t *testing.T) {
	t.Parallel()
	numbers := &http.Client{Transport: llmtest.EnumsAs("json;enum-encoding=int")}
	llmtest.RunClient(t, llmtest.Gemini, func(baseURL string) llm.Client {
		client, err := gemini.New(llm.Options{Name: "test", BaseURL: baseURL, APIKey: key(secret), IdleTimeout: llmtest.Idle,
			HTTPClient: numbers})
		if err != nil {
			t.Fatal(err)
		}
		return client
	})
}

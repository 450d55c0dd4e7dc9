package geminilegacy_test

import (
	"fmt"
	"net/http"
	"testing"

	"cloud.google.com/go/ai/generativelanguage/apiv1beta/generativelanguagepb"

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
	return openWith(t, baseURL, nil)
}

func openWith(t *testing.T, baseURL string, client *http.Client) *geminilegacy.Client {
	t.Helper()
	opts := llm.Options{Name: "test", BaseURL: baseURL, APIKey: key(secret), IdleTimeout: llmtest.Idle, HTTPClient: client}
	c, err := geminilegacy.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(content string) llm.Request {
	return llm.Request{Model: "m", Messages: []agent.Message{{Role: agent.User, Content: content}}}
}

func TestClient(t *testing.T) {
	t.Parallel()
	llmtest.RunClient(t, llmtest.GeminiArray, func(baseURL string) llm.Client { return open(t, baseURL) })
}

// TestClientOfNames checks a proxy that ignores the SDK's request for numeric enums.
func TestClientOfNames(t *testing.T) {
	t.Parallel()
	names := &http.Client{Transport: llmtest.EnumsAs("")}
	llmtest.RunClient(t, llmtest.GeminiArray, func(baseURL string) llm.Client { return openWith(t, baseURL, names) })
}

func TestMutations(t *testing.T) {
	t.Parallel()
	llmtest.RunMutations(t, "geminiarray", func(baseURL string) llm.Client { return open(t, baseURL) })
}

// TestTrapNumbers: the SDK requests numeric enums, which are translated to their names.
func TestTrapNumbers(t *testing.T) {
	t.Parallel()
	for field, names := range map[string]map[int32]string{
		"finishReason": generativelanguagepb.Candidate_FinishReason_name,
		"blockReason":  generativelanguagepb.GenerateContentResponse_PromptFeedback_BlockReason_name,
		"language":     generativelanguagepb.ExecutableCode_Language_name,
		"outcome":      generativelanguagepb.CodeExecutionResult_Outcome_name,
	} {
		for number, name := range names {
			got := llm.GoogleNames(fmt.Appendf(nil, `{"x":[{%q:%d}]}`, field, number))
			if want := fmt.Sprintf(`{"x":[{%q:%q}]}`, field, name); string(got) != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
}

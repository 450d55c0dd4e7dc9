package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/llm/openai"
)

func TestAzureClient(t *testing.T) {
	t.Parallel()
	llmtest.RunClient(t, llmtest.OpenAI, func(baseURL string) llm.Client {
		opts := llm.Options{Name: "test", BaseURL: strings.TrimSuffix(baseURL, "/v1"), APIKey: key(secret), IdleTimeout: llmtest.Idle}
		client, err := openai.NewAzure(opts, "2024-10-21")
		if err != nil {
			t.Fatal(err)
		}
		return client
	})
}

// azure opens a client of a server that gives every request the same answer and records the requests.
func azure(t *testing.T, status int, header map[string]string, body string) (*openai.Client, <-chan *http.Request) {
	t.Helper()
	seen := make(chan *http.Request, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Clone(context.WithoutCancel(r.Context()))
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(srv.Close)
	opts := llm.Options{Name: "azure", BaseURL: srv.URL + "/", APIKey: key(secret), IdleTimeout: llmtest.Idle}
	client, err := openai.NewAzure(opts, "2024-10-21")
	if err != nil {
		t.Fatal(err)
	}
	return client, seen
}

// TestAzure checks Azure's extra chunks at the beginning and the end.
func TestAzure(t *testing.T) {
	t.Parallel()
	client, seen := azure(t, http.StatusOK, nil, strings.Join([]string{
		`data: {"choices":[],"model":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}`,
		`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Yes."},"finish_reason":null,"content_filter_results":{}}],` +
			`"model":"gpt-4o-2024-08-06"}`,
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"model":"gpt-4o-2024-08-06"}`,
		`data: {"choices":[],"model":"gpt-4o-2024-08-06","usage":{"prompt_tokens":3,"completion_tokens":2}}`,
		"data: [DONE]", ""}, "\n\n"))
	req := ask("why?")
	req.Model = "gpt-3.5 prod/eu"
	got, err := client.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "gpt-4o-2024-08-06",
		Usage: agent.Usage{InputTokens: 3, OutputTokens: 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	sent := <-seen
	type place struct{ Path, Query, Key, Authorization string }
	wantPlace := place{"/openai/deployments/gpt-3.5%20prod%2Feu/chat/completions", "api-version=2024-10-21", secret, ""}
	gotPlace := place{sent.URL.EscapedPath(), sent.URL.RawQuery, sent.Header.Get("Api-Key"), sent.Header.Get("Authorization")}
	if diff := cmp.Diff(wantPlace, gotPlace); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

func TestAzureErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
		want   error
	}{
		{"bad key", 401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key ` + secret + `"}}`, llm.ErrAuth},
		{"no such deployment", 404, `{"error":{"code":"DeploymentNotFound","message":"no"}}`, llm.ErrInvalidRequest},
		{"filtered prompt", 400, `{"error":{"code":"content_filter","message":"no","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`,
			llm.ErrContentFiltered},
		{"too many tokens a minute", 429, `{"error":{"code":"429","message":"exceeded token rate limit"}}`, llm.ErrRateLimited},
		{"a redirect to another host", 307, ``, llm.ErrNotAModel},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, seen := azure(t, tt.status, map[string]string{"Location": "/elsewhere"}, tt.body)
			_, err := client.Generate(t.Context(), ask("why?"), nil)
			if !errors.Is(err, tt.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("error = %v, want %v without the key", err, tt.want)
			}
			<-seen
			if len(seen) > 0 {
				t.Error("a second request was sent")
			}
		})
	}
}

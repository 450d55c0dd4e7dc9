package embed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/llm/embed"
	"github.com/inquest-dev/inquest/internal/plan"
)

// The answers have the form of the examples in the APIs' references.
const (
	openAIAnswer = `{"object":"list","data":[
		{"object":"embedding","embedding":[0.25,-0.5],"index":1},{"object":"embedding","embedding":[1,0],"index":0}],
		"model":"text-embedding-3-small","usage":{"prompt_tokens":8,"total_tokens":8}}`
	googleAnswer = `{"embeddings":[{"values":[1,0]},{"values":[0.25,-0.5]}]}`
)

func env(name string) (string, bool) {
	key, ok := map[string]string{"KEY": "sk-secret"}[name]
	return key, ok
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		model                        plan.Embedding
		query                        bool
		answer, path, header, wanted string
	}{
		"OpenAI": {
			plan.Embedding{Provider: "openai", Model: "text-embedding-3-small", APIKeyEnv: "KEY", Dimensions: 2}, true,
			openAIAnswer, "/embeddings", "Authorization: Bearer sk-secret",
			`{"model":"text-embedding-3-small","input":["a","b"],"encoding_format":"float","dimensions":2}`,
		},
		"Gemini": {
			plan.Embedding{Provider: "google", Model: "gemini-embedding-001", APIKeyEnv: "KEY", Dimensions: 2}, true,
			googleAnswer, "/models/gemini-embedding-001:batchEmbedContents", "X-Goog-Api-Key: sk-secret",
			`{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_QUERY",
				"outputDimensionality":2},{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"b"}]},
				"taskType":"RETRIEVAL_QUERY","outputDimensionality":2}]}`,
		},
		"Gemini, a document and no key": {
			plan.Embedding{Provider: "google", Model: "models/m"}, false, googleAnswer, "/models/m:batchEmbedContents", "X-Goog-Api-Key: ",
			`{"requests":[{"model":"models/m","content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_DOCUMENT"},
				{"model":"models/m","content":{"parts":[{"text":"b"}]},"taskType":"RETRIEVAL_DOCUMENT"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				var got, want any
				if err := json.Unmarshal([]byte(tc.wanted), &want); err != nil {
					t.Error(err)
				}
				if json.Unmarshal(body, &got) != nil || err != nil || !cmp.Equal(want, got) {
					t.Errorf("the request is %s", body)
				}
				header, value, _ := strings.Cut(tc.header, ": ")
				if r.URL.Path != tc.path || r.Method != http.MethodPost || r.Header.Get(header) != value {
					t.Errorf("%s %s, %s: %q", r.Method, r.URL.Path, header, r.Header.Get(header))
				}
				fmt.Fprint(w, tc.answer)
			}))
			defer server.Close()
			tc.model.BaseURL = server.URL
			got, err := embed.New(env).Embed(t.Context(), tc.model, tc.query, []string{"a", "b"})
			if diff := cmp.Diff([][]float32{{1, 0}, {0.25, -0.5}}, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestEmbedBatches(t *testing.T) {
	t.Parallel()
	sizes := make(chan int, 3)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		sizes <- len(in.Input)
		var data []string
		for n := range in.Input {
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[1]}`, n))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
	}))
	defer server.Close()
	got, err := embed.New(env).Embed(t.Context(), plan.Embedding{Provider: "openai", BaseURL: server.URL}, false, make([]string, 205))
	if err != nil || len(got) != 205 || <-sizes != 100 || <-sizes != 100 || <-sizes != 5 {
		t.Errorf("%d vectors, %v", len(got), err)
	}
}

func TestEmbedFails(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	for name, tc := range map[string]struct {
		model   plan.Embedding
		handler http.HandlerFunc
		want    string
	}{
		"no key":           {plan.Embedding{Provider: "openai", APIKeyEnv: "OTHER"}, nil, "variable OTHER is not set"},
		"unknown provider": {plan.Embedding{Provider: "x"}, nil, "unknown embedding provider"},
		"refused": {plan.Embedding{Provider: "openai"}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error"}}`)
		}, "answered 401: Incorrect API key provided"},
		"redirected": {plan.Embedding{Provider: "google"}, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}, "answered 302"},
		"no JSON":     {plan.Embedding{Provider: "google"}, answering("<html>"), "read the response"},
		"too few":     {plan.Embedding{Provider: "google"}, answering(`{"embeddings":[]}`), "vectors in the response: 0, expected: 1"},
		"none":        {plan.Embedding{Provider: "openai"}, answering(`{"data":[]}`), "contains an empty vector"},
		"wrong index": {plan.Embedding{Provider: "openai"}, answering(`{"data":[{"index":1,"embedding":[1]}]}`), "index 1"},
		"wrong dimension": {plan.Embedding{Provider: "openai", Dimensions: 3},
			answering(`{"data":[{"index":0,"embedding":[1]}]}`), "1 dimensions"},
		"not finite": {plan.Embedding{Provider: "google"}, answering(`{"embeddings":[{"values":[1e99]}]}`), "read the response"},
		"endless": {plan.Embedding{Provider: "openai"}, func(w http.ResponseWriter, _ *http.Request) {
			for range 17 {
				fmt.Fprint(w, strings.Repeat(" ", 1<<20))
			}
		}, "larger than 16777216 bytes"},
		"silent": {plan.Embedding{Provider: "openai"}, func(http.ResponseWriter, *http.Request) { <-release }, "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(tc.handler)
			t.Cleanup(server.Close)
			tc.model.BaseURL = server.URL
			ctx, within := t.Context(), time.Minute
			if name == "silent" {
				within = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(ctx, within)
			defer cancel()
			_, err := embed.New(env).Embed(ctx, tc.model, false, []string{"private words"})
			if name == "silent" {
				close(release)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "private") {
				t.Errorf("the error is %v, want %q", err, tc.want)
			}
		})
	}
}

func answering(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

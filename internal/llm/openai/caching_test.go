package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/openai"
)

// sentTo records the client's request to any address.
type sentTo struct{ body []byte }

func (s *sentTo) RoundTrip(req *http.Request) (*http.Response, error) {
	s.body, _ = io.ReadAll(req.Body)
	return &http.Response{StatusCode: http.StatusTeapot, Body: io.NopCloser(strings.NewReader("no")), Request: req}, nil
}

// TestCaching checks that the cache is told which requests belong together, and not to write unused entries, if the
// service supports that.
func TestCaching(t *testing.T) {
	t.Parallel()
	responses := openai.NewResponses
	dated := func(opts llm.Options) (*openai.Client, error) { return openai.NewAzure(opts, "2024-10-21") }
	const key, explicit = `"44e96c2e6550364b5c0e4f6e093c7ee6"`, `{"mode":"explicit"}`
	for name, tt := range map[string]struct {
		open                func(llm.Options) (*openai.Client, error)
		url, model, of      string
		wantKey, wantOption string
	}{
		"OpenAI":                        {openai.New, "https://api.openai.com/v1", "gpt-4o", "i/e", key, ""},
		"OpenAI in Europe":              {openai.New, "https://eu.api.openai.com/v1", "gpt-6-sol", "i/e", key, ""},
		"Responses":                     {responses, "https://api.openai.com/v1", "gpt-5.6", "i/e", key, ""},
		"Responses of another":          {responses, "http://proxy.lan/v1", "gpt-5.6", "i/e", key, ""},
		"Azure":                         {openai.New, "https://lab.openai.azure.com/openai/v1", "gpt-5.6", "i/e", key, ""},
		"Azure of a date":               {dated, "https://lab.openai.azure.com", "gpt-5.6", "i/e", "", ""},
		"a compatible server":           {openai.New, "http://localhost:8000/v1", "gpt-5.6", "i/e", "", ""},
		"one that ends alike":           {openai.New, "https://notopenai.com/v1", "gpt-5.6", "i/e", "", ""},
		"once":                          {responses, "https://api.openai.com/v1", "gpt-5.6-terra", "", "", explicit},
		"once, by chat completions":     {openai.New, "https://api.openai.com/v1", "gpt-6.1-sol", "", "", explicit},
		"once, an earlier model":        {responses, "https://api.openai.com/v1", "gpt-5.5", "", "", ""},
		"once, at Azure":                {openai.New, "https://lab.openai.azure.com/openai/v1", "gpt-5.6", "", "", ""},
		"once, the Responses of others": {responses, "http://proxy.lan/v1", "gpt-5.6", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := &sentTo{}
			client, err := tt.open(llm.Options{Name: "test", BaseURL: tt.url, HTTPClient: &http.Client{Transport: sent}})
			if err != nil {
				t.Fatal(err)
			}
			req := ask("why?")
			req.Model, req.Conversation = tt.model, tt.of
			_, _ = client.Generate(t.Context(), req, nil) // the service would refuse it
			var body struct {
				Key     json.RawMessage `json:"prompt_cache_key"`
				Options json.RawMessage `json:"prompt_cache_options"`
			}
			if err := json.Unmarshal(sent.body, &body); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.wantKey, tt.wantOption}, []string{string(body.Key), string(body.Options)}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

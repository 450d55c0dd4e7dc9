package anthropic_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/auth"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/googlecloud"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/anthropic"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// token replaces Google Cloud's credentials.
type token struct {
	err   error
	value string // empty means "secret"
}

func (t token) Token(context.Context) (*auth.Token, error) {
	return &auth.Token{Value: cmp.Or(t.value, secret), Expiry: time.Now().Add(time.Hour)}, t.err
}

func openVertex(t *testing.T, baseURL string, tokens auth.TokenProvider) *anthropic.Client {
	t.Helper()
	client, err := anthropic.NewVertex(llm.Options{Name: "test", BaseURL: baseURL, IdleTimeout: llmtest.Idle},
		googlecloud.At("lab", "europe-west1", auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: tokens})))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestVertexClient(t *testing.T) {
	t.Parallel()
	vertex := func(baseURL string) llm.Client { return openVertex(t, baseURL, token{}) }
	llmtest.RunClient(t, llmtest.Anthropic, vertex)
	t.Run("documented of Google's", func(t *testing.T) { llmtest.RunFixtures(t, "vertexclaude", vertex) })
}

func TestVertexRequest(t *testing.T) {
	t.Parallel()
	req := llm.Request{
		Model: "claude-sonnet-4-5@20250929", Thinking: agent.Thinking{Mode: agent.ThinkingOn}, Tools: []llm.Tool{{Name: "f"}},
		Messages: []agent.Message{{Role: agent.User, Content: "why?"}},
	}
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	got, err := openVertex(t, srv.GeminiURL, token{}).Generate(t.Context(), req, nil)
	if err != nil || got.Model != req.Model {
		t.Fatalf("%+v, %v", got, err)
	}
	sent := srv.Wait(1)
	if sent.Key != secret || strings.Contains(string(sent.Body), secret) || sent.Model != req.Model {
		t.Errorf("the token is %q, the model %q", sent.Key, sent.Model)
	}
	if sent.Header.Get("Anthropic-Beta") == "" || sent.Header.Get("X-Api-Key") != "" {
		t.Errorf("headers: %v", sent.Header)
	}
}

func TestVertexToken(t *testing.T) {
	t.Parallel()
	ask := llm.Request{Model: model, Messages: []agent.Message{{Role: agent.User, Content: "why?"}}}
	srv := llmtest.Start(t, llmtest.Always(llmtest.Status(http.StatusForbidden, "no access for "+secret)))
	_, err := openVertex(t, srv.GeminiURL, token{err: errors.New("metadata server is away")}).Generate(t.Context(), ask, nil)
	if !errors.Is(err, llm.ErrUnavailable) || len(srv.Requests()) != 0 {
		t.Errorf("without a token: %v, %d requests", err, len(srv.Requests()))
	}
	_, err = openVertex(t, srv.GeminiURL, token{}).Generate(t.Context(), ask, nil)
	if !errors.Is(err, llm.ErrAuth) || strings.Contains(err.Error(), secret) {
		t.Errorf("the error shows the token: %v", err)
	}
	const opaque = "looks-like-no-credential-of-any-kind"
	within := llmtest.Start(t, llmtest.Always(llmtest.Text("not yet").ErrorAfter(1, "overloaded_error", "no room for "+opaque)))
	_, err = openVertex(t, within.GeminiURL, token{value: opaque}).Generate(t.Context(), ask, nil)
	if err == nil || !strings.Contains(err.Error(), "no room") || strings.Contains(err.Error(), opaque) {
		t.Errorf("the error within the stream shows the token: %v", err)
	}
	if _, err := anthropic.NewVertex(llm.Options{Name: "test"}, googlecloud.At("", "", nil)); err == nil {
		t.Error("there is no project")
	}
}

func TestBedrockClient(t *testing.T) {
	t.Parallel()
	bedrock := func(baseURL string) llm.Client { return open(t, baseURL+"/anthropic") }
	llmtest.RunClient(t, llmtest.Anthropic, bedrock)
	t.Run("documented of Amazon's", func(t *testing.T) { llmtest.RunFixtures(t, "bedrock", bedrock) })
}

// TestBedrock checks Amazon's cloud, which has the Messages API below another path, and models with a prefix.
// https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html (read 2026-11-23)
func TestBedrock(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	req := llm.Request{Model: "anthropic.claude-opus-4-8", Messages: []agent.Message{{Role: agent.User, Content: "why?"}},
		Thinking: agent.Thinking{Mode: agent.ThinkingAdaptive}}
	if _, err := open(t, srv.GeminiURL+"/anthropic").Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if sent := srv.Wait(1); sent.Key != secret || sent.Model != req.Model || !strings.Contains(string(sent.Body), `"adaptive"`) {
		t.Errorf("key %q, model %q: %s", sent.Key, sent.Model, sent.Body)
	}
}

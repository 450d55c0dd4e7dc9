package gemini_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/auth"

	"github.com/inquest-dev/inquest/internal/kit/googlecloud"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/gemini"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// token replaces Google Cloud's credentials.
type token struct{ err error }

func (t token) Token(context.Context) (*auth.Token, error) {
	return &auth.Token{Value: secret, Expiry: time.Now().Add(time.Hour)}, t.err
}

func openVertex(t *testing.T, baseURL string, tokens auth.TokenProvider) *gemini.Client {
	t.Helper()
	client, err := gemini.NewVertex(llm.Options{Name: "test", BaseURL: baseURL, IdleTimeout: llmtest.Idle},
		googlecloud.At("lab", "", auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: tokens})))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestVertexClient(t *testing.T) {
	t.Parallel()
	llmtest.RunClient(t, llmtest.Gemini, func(baseURL string) llm.Client { return openVertex(t, baseURL, token{}) })
}

func TestVertexToken(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	if _, err := openVertex(t, srv.GeminiURL, token{}).Generate(t.Context(), ask("why?"), nil); err != nil {
		t.Fatal(err)
	}
	if req := srv.Wait(1); req.Key != secret || strings.Contains(string(req.Body), secret) {
		t.Errorf("the token is %q", req.Key)
	}
	_, err := openVertex(t, srv.GeminiURL, token{errors.New("metadata server is away")}).Generate(t.Context(), ask("why?"), nil)
	if !errors.Is(err, llm.ErrUnavailable) || len(srv.Requests()) != 1 {
		t.Errorf("without a token: %v, %d requests", err, len(srv.Requests()))
	}
	if _, err := gemini.NewVertex(llm.Options{Name: "test"}, googlecloud.At("", "", nil)); err == nil {
		t.Error("there is no project")
	}
}

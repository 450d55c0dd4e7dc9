package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/genai"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// The traps of the SDK. Each test shows that the trap exists and that the client avoids it.

// alone makes a call with only the SDK, and returns its last error.
func alone(t *testing.T, baseURL, key string) (err error) {
	t.Helper()
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: baseURL},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, chunkErr := range client.Models.GenerateContentStream(t.Context(), "m", genai.Text("why?"), nil) {
		err = errors.Join(err, chunkErr)
	}
	return err
}

func ours(t *testing.T, baseURL string) error {
	t.Helper()
	_, err := open(t, baseURL).Generate(t.Context(), ask("why?"), nil)
	return err
}

func TestTrapCleanEndWithoutFinish(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("It is").NoFinish()))
	if err := alone(t, srv.GeminiURL, secret); err != nil {
		t.Errorf("the SDK alone: %v; the guard is no longer needed", err)
	}
	if err := ours(t, srv.GeminiURL); !errors.Is(err, llm.ErrTruncated) {
		t.Errorf("error = %v, want %v", err, llm.ErrTruncated)
	}
}

// TestTrapComment: the SDK takes a comment for a broken stream.
func TestTrapComment(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, ": keep-alive\n\ndata: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n")
	}))
	defer srv.Close()
	if err := alone(t, srv.URL, secret); err == nil {
		t.Error("the SDK alone: no error; the guard is no longer needed")
	}
	if err := ours(t, srv.URL); err != nil {
		t.Errorf("error = %v", err)
	}
}

// TestTrapFinishMessage: the SDK drops Gemini's message about the end.
func TestTrapFinishMessage(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Raw(
		`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: f("}]}`)))
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: secret, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: srv.GeminiURL},
	})
	if err != nil {
		t.Fatal(err)
	}
	for chunk, err := range client.Models.GenerateContentStream(t.Context(), "m", genai.Text("why?"), nil) {
		if err != nil || chunk.Candidates[0].FinishMessage != "" {
			t.Errorf("the SDK alone: %+v, %v; the guard is no longer needed", chunk, err)
		}
	}
	if err := ours(t, srv.GeminiURL); err == nil || !strings.HasSuffix(err.Error(), ": Malformed function call: f(") {
		t.Errorf("error = %v", err)
	}
}

func TestTrapPanic(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Raw(`{"candidates":"none"}`)))
	if !panics(func() { _ = alone(t, srv.GeminiURL, secret) }) {
		t.Error("the SDK alone does not panic; the guard is no longer needed")
	}
	if err := ours(t, srv.GeminiURL); !errors.Is(err, llm.ErrMalformed) {
		t.Errorf("error = %v, want %v", err, llm.ErrMalformed)
	}
}

func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}

// TestCallersPanic checks that only the SDK's panics are recovered, and not the caller's.
func TestCallersPanic(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("It is")))
	client := open(t, srv.GeminiURL)
	if !panics(func() { _, _ = client.Generate(t.Context(), ask("why?"), func(llm.Delta) { panic("a bug") }) }) {
		t.Error("the caller's panic was swallowed")
	}
}

// TestTrapResume: the SDK itself resends the request of a broken stream.
func TestTrapResume(t *testing.T) {
	t.Parallel()
	broken := llmtest.Raw(`{"candidates":[{"content":{"parts":[{"text":"It is"}]},"continuationToken":"dG9r"}]}`)
	srv := llmtest.Start(t, llmtest.Always(broken))
	_ = alone(t, srv.GeminiURL, secret)
	before := len(srv.Requests())
	if before < 2 {
		t.Errorf("the SDK alone: %d requests; the guard is no longer needed", before)
	}
	if err := ours(t, srv.GeminiURL); !errors.Is(err, llm.ErrTruncated) {
		t.Errorf("error = %v, want %v", err, llm.ErrTruncated)
	}
	if n := len(srv.Requests()) - before; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestTrapEnvironment: without a key, the SDK sends another one from the environment.
func TestTrapEnvironment(t *testing.T) {
	t.Setenv("GEMINI_API_KEY", "somebody-elses")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	if err := alone(t, srv.GeminiURL, ""); err != nil || srv.Wait(1).Key != "somebody-elses" {
		t.Errorf("the SDK alone: %v; the guard is no longer needed", err)
	}
	if err := ours(t, srv.GeminiURL); err != nil || srv.Wait(2).Key != secret {
		t.Errorf("error = %v, or the wrong key", err)
	}
	for name, key := range map[string]func() (string, error){
		"none":          key(""),
		"not there":     func() (string, error) { return "", errors.New("GEMINI_API_KEY is not set") },
		"no key at all": key("two\nlines"),
	} {
		if _, err := openWith(t, srv.GeminiURL, key).Generate(t.Context(), ask("why?"), nil); !errors.Is(err, llm.ErrAuth) &&
			!errors.Is(err, llm.ErrNoKey) {
			t.Errorf("%s: error = %v, want %v", name, err, llm.ErrAuth)
		}
	}
	if n := len(srv.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// TestTrapRedirect: net/http sends the key to another host.
func TestTrapRedirect(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Goog-Api-Key") != "" {
			stolen.Add(1)
		}
	}))
	defer thief.Close()
	other := strings.Replace(thief.URL, "127.0.0.1", "localhost", 1)
	srv := llmtest.Start(t, llmtest.Always(llmtest.Status(http.StatusTemporaryRedirect, "").Header("Location", other)))
	_ = alone(t, srv.GeminiURL, secret)
	if stolen.Load() != 1 {
		t.Error("the SDK alone does not follow; the guard is no longer needed")
	}
	if err := ours(t, srv.GeminiURL); !errors.Is(err, llm.ErrNotAModel) || stolen.Load() != 1 {
		t.Errorf("error = %v, key stolen %d times; want %v and 1", err, stolen.Load(), llm.ErrNotAModel)
	}
}

// TestKeyPlace checks that the key is in one header and not in the URL.
func TestKeyPlace(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Clone(context.WithoutCancel(r.Context()))
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"error":{"code":403,"message":"%s is not allowed at %s"}}`, secret, r.URL)
	}))
	defer srv.Close()
	err := ours(t, srv.URL)
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("error = %v, want one without the key", err)
	}
	req := <-seen
	if got := req.Header.Get("X-Goog-Api-Key"); got != secret {
		t.Errorf("key = %q", got)
	}
	if want := "/v1beta/models/m:streamGenerateContent?alt=sse"; req.URL.String() != want {
		t.Errorf("URL = %s, want %s", req.URL, want)
	}
}

// FuzzStream checks that any answer of a server gives a reply or an error.
func FuzzStream(f *testing.F) {
	llmtest.FuzzStream(f, func(t *testing.T, baseURL string) llm.Client { return open(t, baseURL) },
		`data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`,
		`data: {"candidates":[null,{}]}`, `data: {"candidates":[{"content":{"parts":[null,{"functionCall":{}}]}}]}`,
		`data: null`, "data: []\n\n", `{"error":{"code":"x"}}`, `data: {"error":{"code":429,"details":[{"@type":1}]}}`, "\r\n\r\n:",
		`data: {"promptFeedback":1}`, `data: {"usageMetadata":[]}`, `data: {"candidates":[{"citationMetadata":3}]}`,
	)
}

package geminilegacy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// The traps of the SDK. Each test shows that the trap exists and that the client avoids it.

// model returns the SDK's model without our wrappers.
func model(t *testing.T, baseURL string) *genai.GenerativeModel {
	t.Helper()
	client, err := genai.NewClient(t.Context(), option.WithAPIKey(secret), option.WithEndpoint(baseURL))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client.GenerativeModel("m")
}

// alone streams a reply with only the SDK.
func alone(t *testing.T, baseURL string) (text string, err error) {
	t.Helper()
	stream := model(t, baseURL).GenerateContentStream(t.Context(), genai.Text("why?"))
	for {
		chunk, err := stream.Next()
		if errors.Is(err, iterator.Done) {
			return text, nil
		}
		if err != nil {
			return text, err
		}
		for _, c := range chunk.Candidates {
			for _, p := range c.Content.Parts {
				text += fmt.Sprint(p)
			}
		}
	}
}

func ours(t *testing.T, baseURL string) (llm.Response, error) {
	t.Helper()
	return open(t, baseURL).Generate(t.Context(), ask("why?"), nil)
}

func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}

// TestTrapThoughts: the SDK delivers thinking as the answer.
func TestTrapThoughts(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("The disk.").Thinking("Or the network? ")))
	if text, err := alone(t, srv.GeminiURL); text != "Or the network? The disk." {
		t.Errorf("the SDK alone: %q, %v; the guard is no longer needed", text, err)
	}
	if got, err := ours(t, srv.GeminiURL); err != nil || got.Content != "The disk." {
		t.Errorf("content = %q, %v", got.Content, err)
	}
}

// TestTrapParts: the SDK loses the whole reply because of an unknown part, or panics.
func TestTrapParts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, part string
		want       error
	}{
		{"a function's response", `{"functionResponse":{"name":"f","response":{}}}`, llm.ErrMalformed},
		{"an unknown kind", `{"hologram":{}}`, nil},
		{"a file", `{"fileData":{"fileUri":"x"}}`, nil},
		{"a signature alone", `{"thoughtSignature":"c2ln"}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Always(llmtest.Raw(
				`{"candidates":[{"content":{"role":"model","parts":[{"text":"The disk."},`+tt.part+`]},"finishReason":"STOP"}]}`)))
			var text string
			var err error
			if !panics(func() { text, err = alone(t, srv.GeminiURL) }) && (err == nil || text != "") {
				t.Errorf("the SDK alone: %q, %v; the guard is no longer needed", text, err)
			}
			got, err := ours(t, srv.GeminiURL)
			if !errors.Is(err, tt.want) || err == nil && got.Content != "The disk." {
				t.Errorf("content = %q, error = %v, want %v", got.Content, err, tt.want)
			}
		})
	}
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

// TestTrapCleanEnds: the SDK accepts an error among the chunks, and a stream without an end, as a reply.
func TestTrapCleanEnds(t *testing.T) {
	t.Parallel()
	story := llmtest.Text("It is")
	tests := []struct {
		name  string
		reply llmtest.Reply
		want  error
	}{
		{"no finish", story.NoFinish(), llm.ErrTruncated},
		{"an error", story.NoFinish().ErrorAfter(1, "server_error", "oops"), llm.ErrUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Always(tt.reply))
			if text, err := alone(t, srv.GeminiURL); err != nil {
				t.Errorf("the SDK alone: %q, %v; the guard is no longer needed", text, err)
			}
			if _, err := ours(t, srv.GeminiURL); !errors.Is(err, tt.want) {
				t.Errorf("error = %v, want %v", err, tt.want)
			}
		})
	}
}

// TestTrapFiltered: the SDK discards a reply because of its finish reason.
func TestTrapFiltered(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Raw(
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"The disk."}]},"finishReason":"SAFETY"}]}`)))
	if text, err := alone(t, srv.GeminiURL); err == nil || text != "" {
		t.Errorf("the SDK alone: %q, %v; the guard is no longer needed", text, err)
	}
	if got, err := ours(t, srv.GeminiURL); err != nil || got.Content != "The disk." || got.Finish != llm.FinishFiltered {
		t.Errorf("reply = %+v, %v", got, err)
	}
}

// TestTrapRetry: the SDK retries an overloaded server until the caller's deadline.
func TestTrapRetry(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Status(http.StatusServiceUnavailable, "")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_ = srv.Arrived(ctx, 2)
		cancel()
	}()
	// Only the unary call retries today; streams may in the future.
	_, _ = model(t, srv.GeminiURL).GenerateContent(ctx, genai.Text("why?"))
	before := len(srv.Requests())
	if before < 2 {
		t.Errorf("the SDK alone: %d requests; the guard is no longer needed", before)
	}
	if _, err := ours(t, srv.GeminiURL); !errors.Is(err, llm.ErrUnavailable) {
		t.Errorf("error = %v, want %v", err, llm.ErrUnavailable)
	}
	if n := len(srv.Requests()) - before; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestTrapKey: the SDK puts the key into the URL, which errors and proxies reveal.
func TestTrapKey(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 4)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Clone(context.WithoutCancel(r.Context()))
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"error":{"code":403,"message":"%s is not allowed at %s"}}`, secret, r.URL)
	}))
	defer srv.Close()
	_, _ = alone(t, srv.URL)
	if url := (<-seen).URL; url.Query().Get("key") != secret {
		t.Errorf("the SDK alone: %s; the guard is no longer needed", url)
	}
	_, err := ours(t, srv.URL)
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("error = %v, want one without the key", err)
	}
	req := <-seen
	if got := req.Header.Get("X-Goog-Api-Key"); got != secret {
		t.Errorf("key = %q", got)
	}
	if want := "/v1beta/models/m:streamGenerateContent"; req.URL.Path != want || strings.Contains(req.URL.RawQuery, "key") {
		t.Errorf("URL = %s, want %s without a key", req.URL, want)
	}
}

// TestRedirect: net/http would send the key's header to another host.
func TestRedirect(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer thief.Close()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Status(http.StatusTemporaryRedirect, "").Header("Location", thief.URL)))
	if _, err := ours(t, srv.GeminiURL); !errors.Is(err, llm.ErrNotAModel) || stolen.Load() != 0 {
		t.Errorf("error = %v, followed %d times; want %v and 0", err, stolen.Load(), llm.ErrNotAModel)
	}
}

// FuzzStream checks that any answer of a server gives a reply or an error.
func FuzzStream(f *testing.F) {
	llmtest.FuzzStream(f, func(t *testing.T, baseURL string) llm.Client { return open(t, baseURL) },
		`[{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}]`, `[{"candidates":[null,{}]}]`, `[null,1`,
		`[{"candidates":[{"content":{"parts":[null,{"functionCall":null},{"text":3},{"functionResponse":{}}]}}]}]`,
		`{"error":{"code":"x"}}`, `{"a":`, `[{"error":{"code":429,"details":[{"@type":1}]}}]`, `[{"usageMetadata":{"promptTokenCount":-1}}]`, `"`,
		`]`, "\uFEFF", "\uFEFF \n[{}]", "\xEF\xBB",
	)
}

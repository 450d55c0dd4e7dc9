package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/llm/openai"
)

const secret = "my-very-own/key+with=signs"

func key(text string) func() (string, error) {
	return func() (string, error) { return text, nil }
}

func open(t *testing.T, baseURL string) *openai.Client {
	t.Helper()
	client, err := openai.New(llm.Options{Name: "test", BaseURL: baseURL, APIKey: key(secret), IdleTimeout: llmtest.Idle,
		Dialect: agent.Dialect{WrittenCalls: true}})
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
	llmtest.RunClient(t, llmtest.OpenAI, func(baseURL string) llm.Client { return open(t, baseURL) })
}

func TestKey(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		key  func() (string, error)
		sent string
		err  string
		kind error
	}{
		{name: "a key", key: key(" k3y\n"), sent: "Bearer k3y"},
		{name: "none for a local server", key: key("")},
		{name: "nobody to ask"},
		{name: "not there", key: func() (string, error) { return "", errors.New("OPENAI_API_KEY is not set") },
			err: "test: no credentials: OPENAI_API_KEY is not set", kind: llm.ErrNoKey},
		{name: "not a key", key: key("two\nlines"), err: "test: credentials refused: the API key contains spaces or other invalid characters",
			kind: llm.ErrAuth},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := make(chan string, 1)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got <- r.Header.Get("Authorization")
				fmt.Fprintln(w, `data: {"choices":[{"finish_reason":"stop"}]}`)
			}))
			defer srv.Close()
			client, err := openai.New(llm.Options{Name: "test", BaseURL: srv.URL, APIKey: tt.key})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Generate(t.Context(), ask("why?"), nil)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err || !errors.Is(err, tt.kind) {
					t.Errorf("error = %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if sent := <-got; sent != tt.sent {
				t.Errorf("Authorization = %q, want %q", sent, tt.sent)
			}
		})
	}
}

// TestBodies checks bodies that a line-based reader gets wrong.
func TestBodies(t *testing.T) {
	t.Parallel()
	const hello = `data: {"choices":[{"delta":{"content":"Hello."}}]}` + "\n\n"
	const stop = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`
	tests := []struct {
		name, body string
		want       error
	}{
		{"no line break at the end", hello + stop, nil},
		{"carriage returns", strings.ReplaceAll(hello+stop+"\n\n", "\n", "\r\n"), nil},
		{"no space after the colon", strings.ReplaceAll(hello+stop, "data: ", "data:"), nil},
		{"other fields", "retry: 5\nid: 1\nevent: x\n" + hello + "data:\n\n" + stop, nil},
		{"many comments", hello + strings.Repeat(": PROCESSING\n\n", 1000) + stop, nil},
		{"an error of null", strings.Replace(hello, "{", `{"error":null,`, 1) + stop, nil},
		{"an error after comments", ": PROCESSING\n\n" + `data: {"error":{"code":401,"message":"no"}}`, llm.ErrAuth},
		{"ends within a line", hello + stop[:30], llm.ErrTruncated},
		{"not an object", hello + "data: [1]\n\n" + stop, llm.ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, tt.body)
			}))
			defer srv.Close()
			got, err := open(t, srv.URL).Generate(t.Context(), ask("hi"), nil)
			if !errors.Is(err, tt.want) {
				t.Fatalf("error = %v, want %v", err, tt.want)
			}
			if err == nil && got.Content != "Hello." {
				t.Errorf("content = %q", got.Content)
			}
		})
	}
}

func TestReasoningModels(t *testing.T) {
	t.Parallel()
	warm := float32(0.7)
	for model, reasons := range map[string]bool{
		"gpt-5-mini": true, "o3": true, "o1-preview": true, "openai/gpt-5": true, "gpt-5.1": true,
		"gpt-4o": false, "gpt-oss-120b": false, "llama3": false, "olmo2": false, "x/foo-3": false,
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
			req := ask("why?")
			req.Model, req.MaxTokens, req.Temperature = model, 50, &warm
			if _, err := open(t, srv.URL).Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			sent := srv.Wait(1)
			type limits struct {
				Max, MaxCompletion int
				Temperature        bool
			}
			want := limits{Max: 50, Temperature: true}
			if reasons {
				want = limits{MaxCompletion: 50}
			}
			got := limits{sent.MaxTokens, sent.MaxCompletionTokens, sent.Temperature != nil}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnsendable are requests that go-openai refuses to send.
func TestUnsendable(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	tests := map[string]llm.Request{
		"tools that want another API": {Model: "gpt-6-astra", Tools: []llm.Tool{{Name: "f"}}},
	}
	for name, req := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := open(t, srv.URL).Generate(t.Context(), req, nil); !errors.Is(err, llm.ErrInvalidRequest) {
				t.Errorf("error = %v, want %v", err, llm.ErrInvalidRequest)
			}
		})
	}
}

// roundTrip is a network without sockets, so that the test controls time.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func offline(t *testing.T, network roundTrip) *openai.Client {
	t.Helper()
	client, err := openai.New(llm.Options{Name: "test", HTTPClient: &http.Client{Transport: network}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestSlowReader checks that the time spent in onDelta does not count as the provider's.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const body = `data: {"choices":[{"delta":{"content":"Hello."}}]}` + "\n" + `data: {"choices":[{"finish_reason":"stop"}]}`
		client := offline(t, func(req *http.Request) (*http.Response, error) {
			lines := &byContext{ctx: req.Context(), Reader: iotest.OneByteReader(strings.NewReader(body))}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(lines)}, nil
		})
		if _, err := client.Generate(t.Context(), ask("hi"), func(llm.Delta) { time.Sleep(time.Hour) }); err != nil {
			t.Errorf("Generate: %v", err)
		}
	})
}

// byContext is a body that, like a real one, ends with its request's context.
type byContext struct {
	ctx context.Context
	io.Reader
}

func (b *byContext) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, b.ctx.Err()
	}
	return b.Reader.Read(p)
}

// TestErrorHidesURL checks that errors omit the base URL, which may hold a credential.
func TestErrorHidesURL(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	_, err := open(t, strings.Replace(gone.URL, "http://", "http://tok3n@", 1)).Generate(t.Context(), ask("hi"), nil)
	if !errors.Is(err, llm.ErrUnavailable) || strings.Contains(err.Error(), "tok3n") {
		t.Errorf("error = %v, want %v without the URL", err, llm.ErrUnavailable)
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	silent := func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	tests := []struct {
		name           string
		deadline, took time.Duration
		want           error
	}{
		{"idle by default", time.Hour, 5 * time.Minute, llm.ErrStalled},
		{"the caller's deadline", time.Minute, time.Minute, context.DeadlineExceeded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
				defer cancel()
				_, err := offline(t, silent).Generate(ctx, ask("hi"), nil)
				if took := time.Since(start); !errors.Is(err, tt.want) || took != tt.took {
					t.Errorf("error = %v after %v, want %v after %v", err, took, tt.want, tt.took)
				}
			})
		})
	}
}

// TestAnswerIsNotQuoted checks that an invalid chunk is not quoted, because it may be the model's text.
func TestAnswerIsNotQuoted(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Status(http.StatusOK, "the pods restart")))
	_, err := open(t, srv.URL).Generate(t.Context(), ask("why?"), nil)
	want := "test: " + llm.ErrNotAModel.Error() + ": the response is neither an event stream nor JSON (16 bytes)"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// TestConnectionsAreKept checks that parallel agents do not begin each call with a handshake.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	const agents = 5
	var made atomic.Int64
	var all sync.WaitGroup // of the calls of one turn
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		all.Done()
		all.Wait()
		fmt.Fprint(w, "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		w.(http.Flusher).Flush()
	}))
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	for try := 1; ; try++ { // a busy machine may close some too early
		made.Store(0)
		client := open(t, srv.URL)
		for range 3 {
			all.Add(agents)
			var calls sync.WaitGroup
			for range agents {
				calls.Go(func() {
					if _, err := client.Generate(t.Context(), ask("why?"), nil); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
		}
		n := made.Load()
		if n <= agents+3 { // net/http's own two would come to 11
			return
		}
		if try == 3 {
			t.Fatalf("%d connections for 3 calls of %d agents at once", n, agents)
		}
	}
}

// TestEndIsNotWaitedFor checks a provider that leaves its connection open after the end.
func TestEndIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		w.(http.Flusher).Flush()
		<-hang
	}))
	defer srv.Close()
	defer close(hang)
	client, err := openai.New(llm.Options{Name: "test", BaseURL: srv.URL, APIKey: key(secret), IdleTimeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.Generate(ctx, ask("why?"), nil); err != nil || ctx.Err() != nil {
		t.Errorf("%v; the caller's context: %v", err, ctx.Err())
	}
}

// FuzzStream checks that any answer of a server gives a reply or an error.
func FuzzStream(f *testing.F) {
	const end = "\n\n" + `data: {"choices":[{"finish_reason":"stop"}]}`
	llmtest.FuzzStream(f, func(t *testing.T, baseURL string) llm.Client { return open(t, baseURL) },
		`data: {"choices":[{"delta":{"tool_calls":[{"index":-3,"extra_content":7},{}]}}]}`+end,
		`data: {"choices":[{"delta":{"content":[{"thinking":[]}]}}]}`+end,
		`data: {"choices":[{"delta":{"reasoning_details":[null,{"index":{}},{"index":[],"type":[1]},{"index":[],"type":[1]}]}}]}`+end,
		`data: {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":[]},{"type":"reasoning.text","index":[]}]}}]}`+end,
		`data: {"choices":[null]}`+end, `data: null`, "data: []\n\n", `{"error":[]}`, `data: {"error":{"code":{}}}`, `data: [DONE]`,
		`{"choices":[{"message":{}}]}`,
	)
}

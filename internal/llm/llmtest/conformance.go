package llmtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// Idle is the idle timeout of the clients passed to RunClient.
const Idle = 4 * time.Second

// RunClient tests a client of a wire format. open returns a client for a base URL, with the idle timeout Idle and its
// own key.
func RunClient(t *testing.T, wire Wire, open func(baseURL string) llm.Client) {
	t.Helper()
	s := suite{wire: wire, open: open}
	t.Run("replies", s.replies)
	t.Run("errors", s.errors)
	t.Run("documented", s.documented)
	t.Run("deltas", s.deltas)
	t.Run("halves", s.halves)
	t.Run("request", s.request)
	t.Run("digits", s.digits)
	t.Run("learns", s.learns)
	t.Run("refused connection", s.refusedConnection)
	t.Run("lost connection", s.lostConnection)
	t.Run("usage of a reply that was cut", s.cutUsage)
	t.Run("cancel before the first byte", func(t *testing.T) { s.cancel(t, Text("late").Stall(0)) })
	t.Run("cancel in the stream", func(t *testing.T) { s.cancel(t, Text("half a reply").Chunked(2, 0).Stall(2)) })
}

type suite struct {
	wire Wire
	open func(baseURL string) llm.Client
}

// connect opens a client of a server.
func (s suite) connect(srv *Server) llm.Client { return s.open(srv.BaseURL(s.wire)) }

var plain = llm.Request{Model: "m", Messages: []agent.Message{{Role: agent.User, Content: "why?"}}}

// opaque ignores the fields that only a driver and its guard use.
var opaque = cmpopts.IgnoreFields(llm.Response{}, "ProviderState", "SignedThinking")

func (s suite) replies(t *testing.T) {
	t.Parallel()
	for _, tt := range replyCases(s.wire) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := Start(t, Always(tt.reply))
			got, err := s.connect(srv).Generate(t.Context(), plain, nil)
			if err != nil {
				t.Fatalf("Generate: %v", err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty(), opaque); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			srv.WaitDone(1) // also for a stream without an end
		})
	}
}

func (s suite) errors(t *testing.T) {
	t.Parallel()
	for _, tt := range errorCases(s.wire) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := Start(t, Always(tt.reply))
			_, err := s.connect(srv).Generate(t.Context(), plain, nil)
			checkError(t, err, tt.kind, tt.retryAfter)
			if key := srv.Wait(1).Key; key == "" || strings.Contains(err.Error(), key) {
				t.Errorf("key %q sent, error %q: want a key that the error does not show", key, err)
			}
			if n := len(srv.Requests()); n != 1 {
				t.Errorf("%d requests, want 1: a client does not retry", n)
			}
			srv.WaitDone(1) // the connection must not stay open
		})
	}
}

func checkError(t *testing.T, err, kind error, retryAfter time.Duration) {
	t.Helper()
	var failed *llm.Error
	if !errors.As(err, &failed) {
		t.Fatalf("error = %v (%T), want an *llm.Error", err, err)
	}
	if !errors.Is(err, kind) {
		t.Errorf("error = %v, want the kind %q", err, kind)
	}
	if failed.Provider == "" || failed.RetryAfter != retryAfter {
		t.Errorf("provider %q, retry after %v; want a provider and %v", failed.Provider, failed.RetryAfter, retryAfter)
	}
	if m := failed.Message; utf8.RuneCountInString(m) > 500 || strings.ContainsAny(m, "\r\n") || !utf8.ValidString(m) {
		t.Errorf("message is not one short line: %q", m)
	}
}

func (s suite) deltas(t *testing.T) {
	t.Parallel()
	srv := Start(t, Always(Text("Grüße!").Thinking("hm, so").Calls(Call{Name: "f", Args: "{}"}).Chunked(3, 0)))
	var got []llm.Delta
	_, err := s.connect(srv).Generate(t.Context(), plain, func(d llm.Delta) { got = append(got, d) })
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	// Every chunk is reported, including those of calls, the finish and the usage.
	want := []llm.Delta{{Thinking: "hm,"}, {Thinking: " so"}, {Content: "Grü"}, {Content: "ße!"}, {}, {}}
	switch s.wire {
	case OpenAI:
		want = append(want, llm.Delta{}, llm.Delta{})
	case GeminiArray:
		want[0], want[1] = llm.Delta{}, llm.Delta{}
	case Anthropic, Responses: // pings, and the beginnings and ends of blocks, are reported too, as signs of life
		got = slices.DeleteFunc(got, func(d llm.Delta) bool { return d == llm.Delta{} })
		want = want[:4]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}

// halves cuts characters between the halves of their UTF-16 form, as servers do that count such units.
func (s suite) halves(t *testing.T) {
	t.Parallel()
	reply := Text("fire ⓵⓶ now").Calls(Call{ID: "a", Name: "f", Args: `{"q":"fire ⓵⓶ now"}`}).Usage(0, 0).Chunked(6, 0)
	want := llm.Response{Content: "fire 🔥 now", ToolCalls: []agent.ToolCall{{ID: "a", Name: "f", Arguments: `{"q":"fire 🔥 now"}`}},
		Finish: llm.FinishToolCalls, Model: "m"}
	if s.wire == GeminiArray {
		want.ToolCalls[0].ID = "call_0"
	} else {
		reply, want.Thinking = reply.Thinking("such ⓵⓶ fire"), "such 🔥 fire"
	}
	chunks := s.wire.format().chunks(reply, Request{Model: "m"})
	for n := range chunks {
		chunks[n] = strings.NewReplacer("⓵", `\ud83d`, "⓶", `\udd25`).Replace(chunks[n])
	}
	var live llm.Delta
	got, err := s.connect(Start(t, Always(Raw(chunks...)))).Generate(t.Context(), plain, func(d llm.Delta) {
		live.Content, live.Thinking = live.Content+d.Content, live.Thinking+d.Thinking
	})
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), opaque); diff != "" || err != nil {
		t.Errorf("%v, reply (-want +got):\n%s", err, diff)
	}
	if live.Content != want.Content || live.Thinking != want.Thinking {
		t.Errorf("shown while it streams: %+v", live)
	}
}

func (s suite) refusedConnection(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	_, err := s.open(gone.URL+"/v1").Generate(t.Context(), plain, nil)
	checkError(t, err, llm.ErrUnavailable, 0)
}

// lostConnection checks that net/http does not resend a request if the server reads it and closes the connection, which
// was used before. The model may have been asked already.
func (s suite) lostConnection(t *testing.T) {
	t.Parallel()
	const most = 50
	var from []string // the connection of each request
	var lost atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		used := slices.Contains(from, r.RemoteAddr)
		from = append(from, r.RemoteAddr)
		if used {
			lost.Store(true)
			panic(http.ErrAbortHandler)
		}
		http.Error(w, "busy", http.StatusServiceUnavailable) // a refusal is read to its end, so the connection is kept
	}))
	client := s.open(srv.URL + "/v1")
	calls := 0
	// net/http returns connections to its pool in the background; until then a call opens another one.
	for ; calls < most && !lost.Load(); calls++ {
		_, err := client.Generate(t.Context(), plain, nil)
		checkError(t, err, llm.ErrUnavailable, 0)
		time.Sleep(20 * time.Millisecond)
	}
	srv.Close() // waits for the handler
	if !lost.Load() || len(from) != calls {
		t.Errorf("%d calls made requests on the connections %v, want one each, and the last on a used one", calls, from)
	}
}

// cutUsage checks that the usage reported before a stream breaks off comes with the error.
func (s suite) cutUsage(t *testing.T) {
	t.Parallel()
	want, chunk := agent.Usage{InputTokens: 900, OutputTokens: 2, CacheReadTokens: 800}, ""
	switch s.wire {
	case Anthropic:
		chunk = `{"type":"message_start","message":{"model":"m","usage":{"input_tokens":100,"cache_read_input_tokens":800,"output_tokens":2}}}`
	case Gemini, GeminiArray:
		chunk = `{"candidates":[{"content":{"role":"model","parts":[{"text":"It"}]}}],` +
			`"usageMetadata":{"promptTokenCount":900,"cachedContentTokenCount":800,"candidatesTokenCount":2}}`
	case Responses:
		chunk = `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"no"},` +
			`"usage":{"input_tokens":900,"input_tokens_details":{"cached_tokens":800},"output_tokens":2}}}`
	default:
		chunk = `{"choices":[{"delta":{"content":"It"}}],"usage":{"prompt_tokens":900,"completion_tokens":2,"total_tokens":902,` +
			`"prompt_tokens_details":{"cached_tokens":800}}}`
	}
	srv := Start(t, Always(Raw(chunk)))
	_, err := s.connect(srv).Generate(t.Context(), plain, nil)
	failed, ok := errors.AsType[*llm.Error](err)
	if !ok {
		t.Fatalf("error = %v", err)
	}
	if diff := cmp.Diff(want, failed.Usage); diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// cancel ends the context of a call whose server is silent.
func (s suite) cancel(t *testing.T, reply Reply) {
	t.Parallel()
	hold := NewHold()
	srv := Start(t, func(Request) Reply { return reply.Hold(hold, reply.fault.after) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-hold.Reached()
		cancel()
	}()
	_, err := s.connect(srv).Generate(ctx, plain, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	srv.WaitDone(1)
}

// FuzzStream lets a client read arbitrary successful answers. The result must be a reply that the next request can
// contain, or an *llm.Error.
func FuzzStream(f *testing.F, open func(t *testing.T, baseURL string) llm.Client, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
		defer srv.Close()
		client, req := open(t, srv.URL), plain
		for range 2 {
			reply, err := client.Generate(t.Context(), req, nil)
			var failed *llm.Error
			switch {
			case err != nil && !errors.As(err, &failed):
				t.Fatalf("error = %v (%T), want an *llm.Error", err, err)
			case err != nil:
				return
			}
			req.Messages = append(slices.Clone(req.Messages), agent.Message{
				Role: agent.Assistant, Content: reply.Content, ToolCalls: reply.ToolCalls, ProviderState: reply.ProviderState,
			})
		}
	})
}

package llmtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

const task = `{"model":"m","messages":[{"role":"system","content":"be %s"},{"role":"user","content":"%t"}]}`

func body(system, user string) string {
	return strings.NewReplacer("%s", system, "%t", user).Replace(task)
}

func post(t *testing.T, srv *llmtest.Server, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k3y")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// say posts a request that wants no stream and returns the content, or "status: message".
func say(t *testing.T, srv *llmtest.Server, body string) string {
	t.Helper()
	resp := post(t, srv, body)
	var got struct {
		Choices []struct {
			Message struct{ Content string }
		}
		Error struct{ Message string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Choices) == 0 {
		return resp.Status + ": " + got.Error.Message
	}
	return got.Choices[0].Message.Content
}

func TestSequence(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Routes(
		llmtest.On("be kind", llmtest.Sequence(llmtest.Text("one"), llmtest.Text("two"))),
		llmtest.On("be strict", llmtest.SequenceBy(llmtest.Request.System, llmtest.Text("strict one"), llmtest.Text("strict two"))),
	))
	steps := []struct{ system, user, want string }{
		{"kind", "a", "one"},
		{"kind", "b", "one"},
		{"kind", "a", "two"},
		{"kind", "a", "400 Bad Request: llmtest: request 3 of a sequence of 2"},
		{"strict", "a", "strict one"},
		{"strict", "b", "strict two"},
		{"other", "a", "400 Bad Request: llmtest: no route for this request"},
	}
	for _, step := range steps {
		if got := say(t, srv, body(step.system, step.user)); got != step.want {
			t.Errorf("%s, %s: %q, want %q", step.system, step.user, got, step.want)
		}
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	for _, user := range []string{"a", "b", "a"} {
		say(t, srv, body("kind", user))
	}
	type seen struct {
		Task, System, Key string
		Attempt           int
	}
	var got []seen
	for _, r := range srv.Requests() {
		got = append(got, seen{r.Task(), r.System(), r.Key, r.Attempt})
		if r.Header.Get("Authorization") != "" {
			t.Error("the key is in the header")
		}
	}
	want := []seen{{"a", "be kind", "k3y", 1}, {"b", "be kind", "k3y", 1}, {"a", "be kind", "k3y", 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(
		llmtest.Text("Hi!").Calls(llmtest.Call{Name: "f", Args: `{"a":1}`}).Chunked(2, time.Microsecond).Usage(3, 4)))
	resp := post(t, srv, `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`)
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"role":"assistant","content":"Hi"}
{"content":"!"}
{"tool_calls":[{"index":0,"id":"call_0","type":"function","function":{"name":"f","arguments":""}}]}
{"tool_calls":[{"index":0,"function":{"arguments":"{\""}}]}
{"tool_calls":[{"index":0,"function":{"arguments":"a\""}}]}
{"tool_calls":[{"index":0,"function":{"arguments":":1"}}]}
{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}
{} tool_calls
{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}
[DONE]
`
	if diff := cmp.Diff(want, summary(t, string(got))); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
}

// summary writes the important fields of each event on one line.
func summary(t *testing.T, stream string) string {
	t.Helper()
	var out strings.Builder
	for event := range strings.SplitSeq(strings.TrimSpace(stream), "\n\n") {
		data := strings.TrimPrefix(event, "data: ")
		var chunk struct {
			Choices []struct {
				Delta  json.RawMessage
				Finish string `json:"finish_reason"`
			}
			Usage json.RawMessage
		}
		switch err := json.Unmarshal([]byte(data), &chunk); {
		case err != nil:
			out.WriteString(data)
		case len(chunk.Choices) == 0:
			out.Write(chunk.Usage)
		default:
			out.WriteString(strings.TrimSpace(string(chunk.Choices[0].Delta) + " " + chunk.Choices[0].Finish))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func TestHold(t *testing.T) {
	t.Parallel()
	hold := llmtest.NewHold()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("abc").Chunked(1, 0).Hold(hold, 2)))
	resp := post(t, srv, `{"model":"m","stream":true}`)
	hold.Wait(t)
	lines := bufio.NewReader(resp.Body)
	for _, want := range []string{`"a"`, `"b"`} {
		if line := nextLine(t, lines); !strings.Contains(line, want) {
			t.Errorf("line = %q, want one with %s", line, want)
		}
	}
	hold.Release()
	if line := nextLine(t, lines); !strings.Contains(line, `"c"`) {
		t.Errorf("line = %q after the release", line)
	}
	srv.WaitDone(1)
}

func nextLine(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if line == "\n" {
		return nextLine(t, r)
	}
	return line
}

// TestHandler uses the handler without a test server, from many goroutines.
func TestHandler(t *testing.T) {
	t.Parallel()
	handler := llmtest.New(llmtest.Always(llmtest.Text("never").Stall(0)))
	defer handler.Close()
	srv := &http.Server{Handler: handler}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(listener) }()
	defer srv.Close()

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			resp, err := http.Post("http://"+listener.Addr().String()+"/v1/chat/completions", "", strings.NewReader(`{"stream":true}`))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			_, _ = io.Copy(io.Discard, resp.Body)
		})
	}
	if err := handler.Arrived(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := handler.Done(ended, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Done = %v, want %v: every reply stalls", err, context.Canceled)
	}
	handler.Close()
	wg.Wait()
	if err := handler.Done(t.Context(), 8); err != nil {
		t.Error(err)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("")))
	resp, err := http.Get(srv.URL + "/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || len(got.Data) != 1 || got.Data[0].ID != "llmtest" {
		t.Errorf("models = %v, %v", got, err)
	}
}

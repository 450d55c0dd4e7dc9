package llmtest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

const geminiTask = `{"systemInstruction":{"parts":[{"text":"be kind"}]},"contents":[
	{"role":"user","parts":[{"text":"a"}]},
	{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"id":"1","name":"f","args":{"a":1}},"thoughtSignature":"c2ln"}]},
	{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f","response":{"output":"42"}}}]}],
	"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object","properties":{}}}]}],
	"generationConfig":{"maxOutputTokens":9}}`

// postGemini returns the status and the whole answer.
func postGemini(t *testing.T, srv *llmtest.Server, call, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.GeminiURL+"/v1beta/models/"+call, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Goog-Api-Key", "k3y")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

// TestGeminiWire checks that one script answers in every format.
func TestGeminiWire(t *testing.T) {
	t.Parallel()
	const (
		first = `{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"index":0}],"modelVersion":"m"}`
		call  = `{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"c2ln"}`
		last  = `{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,` +
			`"totalTokenCount":7},"modelVersion":"m"}`
		model = `{"candidates":[{"content":{"role":"model","parts":[`
	)
	called := model + call + `]},"index":0}],"modelVersion":"m"}`
	reply := llmtest.Text("Hi").Calls(llmtest.Call{Name: "f", Args: `{"a":1}`}).Signed("c2ln").Usage(3, 4)
	limited := llmtest.RateLimited(2 * time.Second)
	const refusal = `{"error":{"code":429,"message":"Rate limit reached","status":"RESOURCE_EXHAUSTED",` +
		`"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2s"}]}}`
	tests := []struct {
		name, call string
		reply      llmtest.Reply
		status     int
		want       string
	}{
		{"events", "m:streamGenerateContent?alt=sse", reply, 200,
			"data: " + first + "\r\n\r\ndata: " + called + "\r\n\r\ndata: " + model + last + "\r\n\r\n"},
		{"array", "m:streamGenerateContent", reply, 200, "[" + first + ",\r\n" + called + ",\r\n" + model + last + "]"},
		{"whole", "m:generateContent", reply, 200, model + `{"text":"Hi"},` + call + "," + last},
		{"nothing", "m:streamGenerateContent", llmtest.Raw(), 200, "[]"},
		{"refused", "m:streamGenerateContent?alt=sse", limited, 429, refusal},
		{"refused as an array", "m:streamGenerateContent", limited, 429, "[" + refusal + "]"},
		{"no such method", "m:embedContent?alt=sse", reply, 400,
			`{"error":{"code":400,"message":"no method \"embedContent\"","status":"INVALID_ARGUMENT"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.Start(t, llmtest.Routes(llmtest.On("be kind", llmtest.Always(tt.reply))))
			status, got := postGemini(t, srv, tt.call, geminiTask)
			if diff := cmp.Diff(tt.want, got); status != tt.status || diff != "" {
				t.Errorf("status %d, want %d; answer (-want +got):\n%s", status, tt.status, diff)
			}
		})
	}
}

// TestGeminiRequest checks that a script sees a Gemini request in OpenAI's form.
func TestGeminiRequest(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
	postGemini(t, srv, "m:streamGenerateContent?alt=sse", geminiTask)
	req := srv.Wait(1)
	type seen struct {
		Model, Task, System, Key, Last, LastID, Signature string
		Messages, MaxTokens                               int
		Offers, Stream                                    bool
		Wire                                              llmtest.Wire
	}
	want := seen{"m", "a", "be kind", "k3y", "42", "1", "c2ln", 4, 9, true, true, llmtest.Gemini}
	got := seen{req.Model, req.Task(), req.System(), req.Key, req.Last().Text(), req.Last().ToolCallID,
		req.Messages[2].ToolCalls[0].Signature, len(req.Messages), req.MaxTokens, req.Offers("f"), req.Stream, req.Wire}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if req.Header.Get("X-Goog-Api-Key") != "" {
		t.Error("the key is in the header")
	}
}

// TestGeminiCodeIsNotEmpty checks that a turn of blanks is refused, unless it also has code that Gemini ran.
func TestGeminiCodeIsNotEmpty(t *testing.T) {
	t.Parallel()
	for parts, want := range map[string]int{
		`{"text":" "}`: 400,
		`{"text":" "},{"executableCode":{"language":"PYTHON","code":"print(42)"}},
			{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"42"}}`: 200,
	} {
		srv := llmtest.Start(t, llmtest.Always(llmtest.Text("ok")))
		status, answer := postGemini(t, srv, "m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"a"}]},
			{"role":"model","parts":[`+parts+`]},{"role":"user","parts":[{"text":"b"}]}]}`)
		if status != want {
			t.Errorf("%s: %d %s, want %d", parts, status, answer, want)
		}
	}
}

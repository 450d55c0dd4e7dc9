package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/llm/openai"
)

// words returns a chunk with a text.
func words(text string) string {
	return `{"model":"m","choices":[{"index":0,"delta":{"content":"` + text + `"}}]}`
}

// whole returns a chunk with a message instead of a delta.
func whole(fields, finish string) string {
	return `{"model":"m","choices":[{"index":0,"delta":{},"message":{` + fields + `},"finish_reason":"` + finish + `"}]}`
}

func finished(reason string) string {
	return sse(words("Hi."), strings.Replace(stopped, `"stop"`, `"`+reason+`"`, 1))
}

// TestGateways checks gateways, which pass on finish reasons of the provider behind them, repeat what they have sent,
// and send calls in their own forms. No text is doubled and no call is lost.
func TestGateways(t *testing.T) {
	t.Parallel()
	llmtest.RunSpellings(t, func(baseURL string) llm.Client { return open(t, baseURL) }, []llmtest.Spelling{
		// Finish reasons of gateways
		{Name: "the end in capitals", Source: "gateways in front of Gemini", Body: finished("STOP"), Want: said("Hi.")},
		{Name: "the end in Anthropic's words", Body: finished("end_turn"), Want: said("Hi.")},
		{Name: "the end of a token", Body: finished("eos"), Want: said("Hi.")},
		{Name: "the limit in Gemini's words", Body: finished("MAX_TOKENS"),
			Want: llm.Response{Model: "m", Finish: llm.FinishLength, Content: "Hi."}},
		{Name: "the limit in Anthropic's words", Body: finished("max_tokens"),
			Want: llm.Response{Model: "m", Finish: llm.FinishLength, Content: "Hi."}},
		{Name: "the filter in Gemini's words", Body: finished("SAFETY"),
			Want: llm.Response{Model: "m", Finish: llm.FinishFiltered, Content: "Hi."}},
		{Name: "calls in Anthropic's words", Body: sse(pieces(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`),
			strings.Replace(stopped, "stop", "tool_use", 1)), Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: "{}"})},
		// The whole message again
		{Name: "the whole message at the end", Body: sse(words("It is "), words("the disk."), whole(`"content":"It is the disk."`, "stop")),
			Want: said("It is the disk.")},
		{Name: "a message with more than the deltas", Body: sse(words("It is "), whole(`"content":"It is the disk."`, "stop")),
			Want: said("It is the disk.")},
		{Name: "messages that grow", Body: sse(whole(`"content":"It is the disk of"`, ""), whole(`"content":"It is the disk of db-1."`, "stop")),
			Want: said("It is the disk of db-1.")},
		{Name: "messages in place of deltas", Body: sse(whole(`"content":"It "`, ""), whole(`"content":"is."`, "stop")), Want: said("It is.")},
		{Name: "the whole calls at the end", Body: sse(pieces(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}}`),
			whole(`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]`,
				"tool_calls")),
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`}, agent.ToolCall{ID: "b", Name: "g", Arguments: "{}"})},
		// Calls of gateways
		{Name: "a call without the object function", Body: sse(pieces(`{"index":0,"id":"a","name":"f","arguments":{"a":1}}`), stopped),
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`})},
		{Name: "parameters in place of arguments", Body: sse(
			pieces(`{"index":0,"id":"a","function":{"name":"f","parameters":{"a":1}}}`), stopped),
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`})},
		{Name: "a custom call", Body: sse(pieces(`{"index":0,"id":"a","type":"custom","custom":{"name":"f","input":"{}"}}`), stopped),
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{}`})},
		{Name: "a placeholder, then the arguments", Source: "LiteLLM", Body: sse(
			pieces(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), pieces(`{"index":0,"function":{"arguments":"{\"a\""}}`),
			pieces(`{"index":0,"function":{"arguments":":1}"}}`), stopped),
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`})},
		{Name: "one tool twice, one index, no ids, in pieces", Body: sse(
			pieces(`{"index":0,"function":{"name":"f","arguments":""}}`), pieces(`{"index":0,"function":{"arguments":"{\"a\":1}"}}`),
			pieces(`{"index":0,"function":{"name":"f","arguments":""}}`), pieces(`{"index":0,"function":{"arguments":"{\"a\":2}"}}`), stopped),
			Want: called(agent.ToolCall{Name: "f", Arguments: `{"a":1}`}, agent.ToolCall{Name: "f", Arguments: `{"a":2}`})},
		{Name: "a new id in each piece", Source: "vLLM", Body: sse(
			pieces(`{"id":"a","function":{"name":"f","arguments":"{\"a\""}}`), pieces(`{"id":"b","function":{"arguments":":{"}}`),
			pieces(`{"id":"c","function":{"name":"f","arguments":"}}"}}`), stopped),
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":{}}`})},
		{Name: "a new id in each piece of an index", Body: sse(
			pieces(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\""}}`),
			pieces(`{"index":0,"id":"b","function":{"name":"f","arguments":":1}"}}`), stopped),
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`})},
		// After the end
		{Name: "an error after the end", Body: sse(words("Hi."), stopped, `{"error":{"message":"oops"}}`), Want: said("Hi.")},
		{Name: "no JSON after the end", Body: sse(words("Hi."), stopped, `oops`), Want: said("Hi.")},
		{Name: "the last event in small letters", Body: strings.Replace(sse(words("Hi."), stopped), "[DONE]", "[done]", 1), Want: said("Hi.")},
	})
}

// TestGatewaysOfResponses is TestGateways for the Responses API.
func TestGatewaysOfResponses(t *testing.T) {
	t.Parallel()
	const (
		hello = `{"type":"response.output_text.delta","output_index":0,"delta":"Hi."}`
		f     = `{"type":"function_call","call_id":"a","name":"f","arguments":"{\"a\":1}"}`
		g     = `{"type":"function_call","call_id":"b","name":"g","arguments":"{}"}`
		text  = `{"type":"message","content":[{"type":"output_text","text":"Hi."}]}`
	)
	done := func(at, item string) string {
		return `{"type":"response.output_item.done","output_index":` + at + `,"item":` + item + `}`
	}
	ended := func(output string) string {
		return `{"type":"response.completed","response":{"status":"completed","model":"m","output":[` + output + `]}}`
	}
	callF, callG := agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`}, agent.ToolCall{ID: "b", Name: "g", Arguments: "{}"}
	both := called(callF)
	both.Content = "Hi."
	llmtest.RunSpellings(t, func(baseURL string) llm.Client { return openResponses(t, baseURL) }, []llmtest.Spelling{
		{Name: "a call in the last event alone", Body: sse(done("0", text), ended(text+","+f)), Want: both},
		{Name: "a call in the last event beside the deltas", Body: sse(hello, ended(f)), Want: both},
		{Name: "an item twice", Body: sse(done("0", f), done("0", f), ended(f)), Want: called(callF)},
		{Name: "an item twice without an index", Body: sse(done("null", f), done("null", f), ended(f)), Want: called(callF)},
		{Name: "two calls with one index", Body: sse(done("0", f), done("0", g), ended("")), Want: called(callF, callG)},
		{Name: "a call without its end", Body: sse(
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\":"}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"1}"}`, ended("")), Want: called(callF)},
		{Name: "a call without its end and its pieces", Body: sse(
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f"}}`,
			`{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"a\":1}"}`, ended("")), Want: called(callF)},
		{Name: "a text without deltas", Body: sse(
			`{"type":"response.output_text.done","output_index":0,"text":"Hi."}`, ended("")), Want: said("Hi.")},
		{Name: "a text told in every way", Body: sse(hello, `{"type":"response.output_text.done","output_index":0,"text":"Hi."}`,
			done("0", text), ended(text)), Want: said("Hi.")},
		{Name: "no status", Body: sse(hello, `{"type":"response.completed","response":{"model":"m"}}`), Want: said("Hi.")},
		{Name: "a custom call", Body: sse(done("0", `{"type":"custom_tool_call","call_id":"b","name":"g","input":"{}"}`), ended("")),
			Want: called(callG)},
		{Name: "the limit in other words", Body: sse(hello,
			`{"type":"response.incomplete","response":{"status":"incomplete","model":"m","incomplete_details":{"reason":"MAX_TOKENS"}}}`),
			Want: llm.Response{Model: "m", Finish: llm.FinishLength, Content: "Hi."}},
	})
}

// TestWrittenByVendors checks that a call in the text of a vendor's service stays text, because vendors parse their
// models' notations. It also checks that no server's reply makes a call that the model quotes from a tool's result.
func TestWrittenByVendors(t *testing.T) {
	t.Parallel()
	const call = `<tool_call>{"name": "f", "arguments": {"q": "x"}}</tool_call>`
	result := []agent.Message{{Role: agent.User, Content: "look"},
		{Role: agent.Assistant, ToolCalls: []agent.ToolCall{{ID: "a", Name: "g", Arguments: "{}"}}},
		{Role: agent.ToolRole, ToolCallID: "a", Content: "GET / 200\n" + call}}
	for name, tt := range map[string]struct {
		reads    bool
		messages []agent.Message
		want     llm.Response
	}{
		"a vendor": {false, ask("look").Messages, said("Its line:\n" + call)},
		"a server of open models": {true, ask("look").Messages, llm.Response{Model: "m", Finish: llm.FinishToolCalls, Content: "Its line:",
			ToolCalls: []agent.ToolCall{{ID: "call_0", Name: "f", Arguments: `{"q": "x"}`}}}},
		"a quotation from a result": {true, result, llm.Response{Model: "m", Finish: llm.FinishStop, Content: "Its line:\n" + call,
			Quoted: []string{"f"}}},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, streamed("Its line:\n"+call, "stop"))
		}))
		defer srv.Close()
		client, err := openai.New(llm.Options{Name: "test", BaseURL: srv.URL, Dialect: agent.Dialect{WrittenCalls: tt.reads, MaxTools: 128}})
		if err != nil {
			t.Fatal(err)
		}
		var live string
		req := llm.Request{Model: "m", Tools: offered, Messages: tt.messages}
		got, err := client.Generate(t.Context(), req, func(d llm.Delta) { live += d.Content })
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if strings.TrimSpace(live) != strings.TrimSpace(tt.want.Content) {
			t.Errorf("%s: shown %q, want %q", name, live, tt.want.Content)
		}
	}
}

// TestPlainTextInTheStream checks that the error of a stream that ends too early quotes the last event that is plain text, but no signs
// of life, and that such text does not matter if the reply is complete.
func TestPlainTextInTheStream(t *testing.T) {
	t.Parallel()
	const (
		cut   = "test: reply cut off: the stream ended without a finish reason"
		envoy = "upstream connect error or disconnect/reset before headers" // https://github.com/jetstreamapp/jetstream/issues/692
	)
	alive := []string{": keepalive", "ping", "keep-alive", `"ping"`, "null", ""} // https://github.com/anomalyco/opencode/issues/50871
	long := strings.Repeat("the queue is full and ", 500)
	events := func(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }
	llmtest.RunSpellings(t, func(baseURL string) llm.Client { return open(t, baseURL) }, []llmtest.Spelling{
		{Name: "after a part of the reply", Err: cut + ": " + envoy, Body: events(append([]string{words("Hi."), envoy}, alive...)...)},
		{Name: "nothing else", Err: cut + ": " + envoy, Body: events(envoy)},
		{Name: "before the last event", Err: cut + ": " + envoy, Body: sse(envoy)},
		{Name: "two texts", Err: cut + ": " + envoy, Body: events("starting up", envoy)},
		{Name: "a long text", Err: clip.Fit(cut+": "+long, 500+len("test: reply cut off: ")), Body: events(words("Hi."), long)},
		{Name: "only signs of life", Err: cut, Body: events(append(alive, words("Hi."))...)},
		{Name: "a complete reply", Want: said("Hi."), Body: sse(words("Hi."), envoy, stopped)},
	})
}

package anthropic_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// sse returns a stream of events without names, which the types repeat.
func sse(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }

// TestSpellings checks bookkeeping in many forms, and the variants of gateways. W2 to W7 are findings of a comparison
// with public bug reports.
func TestSpellings(t *testing.T) {
	t.Parallel()
	const (
		begin  = `{"type":"message_start","message":{"model":"m","usage":{"input_tokens":3,"output_tokens":1}}}`
		hello  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi."}}`
		ended  = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`
		asking = `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}`
		stop   = `{"type":"message_stop"}`
	)
	used := agent.Usage{InputTokens: 3, OutputTokens: 2}
	said := llm.Response{Model: "m", Finish: llm.FinishStop, Content: "Hi.", Usage: used}
	called := func(calls ...agent.ToolCall) llm.Response {
		return llm.Response{Model: "m", Finish: llm.FinishToolCalls, ToolCalls: calls, Usage: used}
	}
	use := func(index, id, name, input string) string {
		return `{"type":"content_block_start","index":` + index + `,"content_block":{"type":"tool_use"` +
			`,"id":"` + id + `","name":"` + name + `","input":` + input + `}}`
	}
	piece := func(index, text string) string {
		return `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":` + text + `}}`
	}
	f := agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`}
	llmtest.RunSpellings(t, func(baseURL string) llm.Client { return open(t, baseURL) }, []llmtest.Spelling{
		// W2
		{Name: "usage with fractions and as text", Want: said, Body: sse(strings.Replace(begin, `:3,`, `:3.0,`, 1), hello,
			strings.Replace(ended, `:2`, `:"2"`, 1), stop)},
		{Name: "usage of another shape", Want: llm.Response{Model: "m", Finish: llm.FinishStop, Content: "Hi."}, Body: sse(
			`{"type":"message_start","message":{"id":7,"model":"m","usage":[]}}`, hello,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_details":[]},"usage":"none"}`, stop)},
		{Name: "usage of other parts", Want: said, Body: sse(begin, hello,
			strings.Replace(ended, `:2`, `:2,"output_tokens_details":[],"cache_creation":7,"server_tool_use":[]`, 1), stop)},
		// W5
		{Name: "[DONE] after the stop reason", Want: said, Body: sse(begin, hello, ended, "[DONE]")},
		{Name: "[DONE] before a stop reason", Err: "test: reply cut off: the stream ended without a stop reason",
			Body: sse(begin, hello, "[DONE]")},
		{Name: "plain text before a stop reason", Err: "test: reply cut off: the stream ended without a stop reason: upstream connect error",
			Body: sse(begin, hello, "upstream connect error", ": keepalive")},
		// W6
		{Name: "the input whole, then in pieces", Want: called(f),
			Body: sse(begin, use("0", "a", "f", `{"a":1}`), piece("0", `"{\"a\":1}"`), asking, stop)},
		{Name: "the input as empty text, then in pieces", Want: called(f),
			Body: sse(begin, use("0", "a", "f", `""`), piece("0", `"{\"a\":1}"`), asking, stop)},
		{Name: "the input whole", Want: called(f), Body: sse(begin, use("0", "a", "f", `{"a":1}`), asking, stop)},
		{Name: "the input as text", Want: called(f), Body: sse(begin, use("0", "a", "f", `"{\"a\":1}"`), asking, stop)},
		{Name: "a piece that is an object", Want: called(f), Body: sse(begin, use("0", "a", "f", `{}`), piece("0", `{"a":1}`), asking, stop)},
		// W7
		{Name: "sparse indexes, both begun before the deltas",
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":5}`}, agent.ToolCall{ID: "b", Name: "g", Arguments: `{"b":6}`}),
			Body: sse(begin, use("5", "a", "f", `{}`), use("6", "b", "g", `{}`), piece("5", `"{\"a\":5}"`),
				piece("6", `"{\"b\":6}"`), asking, stop)},
		{Name: "indexes as text",
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":5}`}, agent.ToolCall{ID: "b", Name: "g", Arguments: `{"b":6}`}),
			Body: sse(begin, use(`"0"`, "a", "f", `{}`), use("1.0", "b", "g", `{}`), piece("0", `"{\"a\":5}"`),
				piece("1", `"{\"b\":6}"`), asking, stop)},
		{Name: "no indexes", Want: called(f),
			Body: sse(begin, use("null", "a", "f", `{}`), piece("null", `"{\"a\":"`), piece("null", `"1}"`), asking, stop)},
		{Name: "blocks without a start", Body: sse(begin,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi."}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" Ho."}}`, ended, stop),
			Want: llm.Response{Model: "m", Finish: llm.FinishStop, Thinking: "hm", Content: "Hi. Ho.", Usage: used}},
		{Name: "an error after the end", Body: sse(`{"type":"message_start","message":{"model":"m"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi."}}`,
			`{"type":"message_delta","delta":{"stop_reason":"STOP"}}`, `{"type":"error","error":{"message":"oops"}}`),
			Want: llm.Response{Model: "m", Finish: llm.FinishStop, Content: "Hi."}},
		{Name: "no JSON after the end", Body: sse(`{"type":"message_start","message":{"model":"m"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi."}}`,
			`{"type":"message_delta","delta":{"stop_reason":"length"}}`, `oops`),
			Want: llm.Response{Model: "m", Finish: llm.FinishLength, Content: "Hi."}},
		{Name: "a number that is not JSON", Want: said,
			Body: sse(strings.Replace(begin, `{`, `{"cost":NaN,`, 1), strings.Replace(hello, `{`, `{"cost":-Infinity,`, 1), ended, stop)},
		// W12
		{Name: "an error without the key", Err: "test: provider unavailable: overloaded",
			Body: "event: error\ndata: {\"message\":\"overloaded\",\"code\":503}\n\n"},
		{Name: "an error of the spelling of OpenAI", Err: "test: provider unavailable: oops",
			Body: sse(begin, `{"error":{"message":"oops","code":"x"}}`)},
		{Name: "errors with success of false", Err: "test: provider unavailable: no such account",
			Body: `{"success":false,"errors":[{"code":7003,"message":"no such account"}]}`},
		{Name: "an unknown endpoint", Body: `{"error":"Unexpected endpoint or method. (POST /v1/messages)"}`,
			Err: "test: " + llm.ErrNotAModel.Error() + ": Unexpected endpoint or method. (POST /v1/messages)"},
		{Name: "an empty error", Want: said,
			Body: sse(strings.Replace(begin, `{`, `{"error":null,`, 1), strings.Replace(hello, `{`, `{"error":{},`, 1), ended, stop)},
	})
}

func TestEndlessArguments(t *testing.T) {
	t.Parallel()
	llmtest.RunEndlessArguments(t, func(baseURL string) llm.Client { return open(t, baseURL) },
		sse(`{"type":"message_start","message":{"model":"m"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`),
		func(text string) string {
			return sse(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":` + text + `}}`)
		})
}

func TestMutations(t *testing.T) {
	t.Parallel()
	llmtest.RunMutations(t, "anthropic", func(baseURL string) llm.Client { return open(t, baseURL) })
}

// TestWritten checks text in which a server in front of an open model has left thinking and calls.
func TestWritten(t *testing.T) {
	t.Parallel()
	const call = `<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>`
	llmtest.RunSpellings(t, func(baseURL string) llm.Client { return open(t, baseURL) }, []llmtest.Spelling{
		{Name: "thoughts and a call", Tools: []llm.Tool{{Name: "f"}}, Body: sse(`{"type":"message_start","message":{"model":"m"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"<think>hm</think>`+call+`"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`),
			Want: llm.Response{Model: "m", Finish: llm.FinishToolCalls, Thinking: "hm",
				ToolCalls: []agent.ToolCall{{ID: "call_0", Name: "f", Arguments: "{}"}}}},
	})
}

package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// sse returns a stream of events.
func sse(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\ndata: [DONE]\n\n"
}

const stopped = `{"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

// pieces returns a chunk with calls, or pieces of them.
func pieces(list string) string {
	return `{"model":"m","choices":[{"index":0,"delta":{"tool_calls":[` + list + `]},"finish_reason":null}]}`
}

func called(calls ...agent.ToolCall) llm.Response {
	return llm.Response{Model: "m", Finish: llm.FinishToolCalls, ToolCalls: calls}
}

func said(text string) llm.Response {
	return llm.Response{Model: "m", Finish: llm.FinishStop, Content: text}
}

func counted(text string, used agent.Usage) llm.Response {
	out := said(text)
	out.Usage = used
	return out
}

var offered = []llm.Tool{{Name: "get"}, {Name: "get_thing"}, {Name: "f"}, {Name: "g"}}

// TestSpellings checks bookkeeping in many forms, and calls in the forms of known servers. W1 to W13 are findings of a
// comparison with public bug reports.
func TestSpellings(t *testing.T) {
	t.Parallel()
	hello := func(rest string) string {
		return sse(`{"model":"m","choices":[{"index":0,"delta":{"content":"Hi."},"finish_reason":"stop"}]` + rest + `}`)
	}
	llmtest.RunSpellings(t, func(baseURL string) llm.Client { return open(t, baseURL) }, []llmtest.Spelling{
		// W1
		{Name: "two calls, one index, empty ids", Source: "gateways in front of Gemini", Body: sse(
			pieces(`{"index":0,"id":"","function":{"name":"f","arguments":"{\"a\":1}"}}`),
			pieces(`{"index":0,"id":"","function":{"name":"f","arguments":"{\"a\":2}"}}`), stopped),
			Want: called(agent.ToolCall{Name: "f", Arguments: `{"a":1}`}, agent.ToolCall{Name: "f", Arguments: `{"a":2}`})},
		{Name: "two calls of two tools, one index, no ids", Body: sse(
			pieces(`{"index":0,"function":{"name":"f","arguments":"{\"a\":"}}`), pieces(`{"index":0,"function":{"arguments":"1}"}}`),
			pieces(`{"index":0,"function":{"name":"g","arguments":"{}"}}`), stopped),
			Want: called(agent.ToolCall{Name: "f", Arguments: `{"a":1}`}, agent.ToolCall{Name: "g", Arguments: `{}`})},
		{Name: "two calls without arguments, one index, no ids", Tools: offered, Body: sse(
			pieces(`{"index":0,"function":{"name":"f","arguments":""}}`), pieces(`{"index":0,"function":{"name":"g","arguments":""}}`), stopped),
			Want: called(agent.ToolCall{Name: "f"}, agent.ToolCall{Name: "g"})},
		{Name: "a name that is repeated in the midst of arguments", Body: sse(
			pieces(`{"index":0,"id":"","function":{"name":"f","arguments":"{\"a\":"}}`),
			pieces(`{"index":0,"id":"","function":{"name":"f","arguments":"1}"}}`),
			pieces(`{"index":0,"id":"","function":{"name":"f","arguments":""}}`), stopped),
			Want: called(agent.ToolCall{Name: "f", Arguments: `{"a":1}`})},
		{Name: "the whole call once more at the end", Body: sse(
			pieces(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}}`),
			pieces(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}}`), stopped),
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`})},
		{Name: "pieces that only an id tells apart", Body: sse(
			pieces(`{"id":"a","function":{"name":"f","arguments":"{\"a\":"}},{"id":"b","function":{"name":"g","arguments":"{\"b\":"}}`),
			pieces(`{"id":"a","function":{"arguments":"1}"}},{"id":"b","function":{"arguments":"2}"}}`), stopped),
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`}, agent.ToolCall{ID: "b", Name: "g", Arguments: `{"b":2}`})},
		// W2
		{Name: "usage with fractions", Body: hello(`,"usage":{"prompt_tokens":3.0,"completion_tokens":2e0,"total_tokens":5.0}`),
			Want: counted("Hi.", agent.Usage{InputTokens: 3, OutputTokens: 2})},
		{Name: "usage as text", Body: hello(`,"usage":{"prompt_tokens":"3","completion_tokens":"2","total_tokens":null}`),
			Want: counted("Hi.", agent.Usage{InputTokens: 3, OutputTokens: 2})},
		{Name: "details as a list", Source: "PHP gateways, whose empty objects are lists",
			Body: hello(`,"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":[],"completion_tokens_details":"none"}`),
			Want: counted("Hi.", agent.Usage{InputTokens: 3, OutputTokens: 2})},
		{Name: "usage of another shape", Body: hello(`,"usage":[3,2]`), Want: said("Hi.")},
		{Name: "every other field of another shape", Body: sse(
			`{"id":7,"object":null,"created":"now","model":"m","system_fingerprint":[],"service_tier":{},"choices":[{"index":{},"logprobs":7,` +
				`"delta":{"role":7,"content":"Hi.","refusal":null,"tool_calls":null,"annotations":{},"audio":7},"finish_reason":"stop"}],"usage":"?"}`),
			Want: said("Hi.")},
		{Name: "a model's name as a number", Body: sse(`{"model":7,"choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}]}`),
			Want: llm.Response{Model: "7", Finish: llm.FinishStop, Content: "Hi."}},
		{Name: "a delta that is an empty list", Source: "PHP gateways", Body: sse(
			`{"model":"m","choices":[{"index":0,"delta":{"content":"Hi."},"finish_reason":null}]}`,
			`{"model":"m","choices":[{"index":0,"delta":[],"finish_reason":"stop"}]}`), Want: said("Hi.")},
		// W3
		{Name: "arguments as an object", Source: "llama.cpp issue 20198", Body: sse(
			pieces(`{"index":0,"id":"a1","type":"function","function":{"name":"f","arguments":{"q":"x","n":9007199254740993}}}`), stopped),
			Want: called(agent.ToolCall{ID: "a1", Name: "f", Arguments: `{"q":"x","n":9007199254740993}`})},
		{Name: "arguments as null", Source: "ogx issue 5462",
			Body: sse(pieces(`{"index":0,"id":"a1","function":{"name":"f","arguments":null}}`), stopped),
			Want: called(agent.ToolCall{ID: "a1", Name: "f"})},
		{Name: "numeric id, index as text", Body: sse(
			pieces(`{"index":"0","id":17,"function":{"name":"f","arguments":"{\"a\""}}`), pieces(`{"index":"0"`+
				`,"function":{"arguments":":1}"}}`), stopped),
			Want: called(agent.ToolCall{ID: "17", Name: "f", Arguments: `{"a":1}`})},
		{Name: "one call in place of a list", Body: sse(
			`{"model":"m","choices":[{"delta":{"tool_calls":{"id":"a","function":{"name":"f","arguments":{}}}},"finish_reason":"tool_calls"}]}`),
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{}`})},
		{Name: "arguments as an object, in plain JSON", Body: `{"model":"m","choices":[{"message":{"role":"assistant","content":null,` +
			`"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{"a":1}}}]},"finish_reason":"tool_calls"}]}`,
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`})},
		{Name: "reasoning as an object", Body: sse(
			`{"model":"m","choices":[{"delta":{"reasoning":{"content":"hm"},"content":{"type":"text","text":"Hi."}},"finish_reason":"stop"}]}`),
			Want: llm.Response{Model: "m", Finish: llm.FinishStop, Thinking: "hm", Content: "Hi."}},
		{Name: "a call of Claude's among the parts of the content", Body: sse(
			`{"model":"m","choices":[{"delta":{"content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"t","name":"f",` +
				`"input":{"a":1}}]},"finish_reason":"stop"}]}`),
			Want: llm.Response{Model: "m", Finish: llm.FinishToolCalls, Content: "Let me see.",
				ToolCalls: []agent.ToolCall{{ID: "t", Name: "f", Arguments: `{"a":1}`}}}},
		// W4
		{Name: "an empty error as text", Body: hello(`,"error":""`), Want: said("Hi.")},
		{Name: "an empty error as an object", Body: hello(`,"error":{}`), Want: said("Hi.")},
		{Name: "an error that says nothing", Body: hello(`,"error":{"code":0,"message":""}`), Want: said("Hi.")},
		{Name: "an error of false", Body: hello(`,"error":false`), Want: said("Hi.")},
		{Name: "an error beside a choice", Source: "OpenRouter", Err: "test: rate limited: slow down",
			Body: hello(`,"error":{"code":429,"message":"slow down"}`)},
		// W8
		{Name: "the calls in another choice", Source: "Copilot, of Claude", Body: `{"model":"m","choices":[` +
			`{"index":0,"message":{"content":"Let me see."},"finish_reason":"tool_calls"},` +
			`{"index":1,"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			Want: llm.Response{Model: "m", Finish: llm.FinishToolCalls, Content: "Let me see.",
				ToolCalls: []agent.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}}},
		{Name: "the calls in another choice, streamed", Body: sse(
			`{"model":"m","choices":[{"index":0,"delta":{"content":"Let me"}},{"index":1`+
				`,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}}]}`,
			`{"model":"m","choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}`,
			`{"model":"m","choices":[{"index":0,"delta":{"content":" see."},"finish_reason":"stop"}]}`),
			Want: llm.Response{Model: "m", Finish: llm.FinishToolCalls, Content: "Let me see.",
				ToolCalls: []agent.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}}},
		{Name: "a second version of the text", Body: sse(
			`{"model":"m","choices":[{"index":0,"delta":{"content":"Hi."},"finish_reason":"stop"},{"index":1` +
				`,"delta":{"content":"Ho."},"finish_reason":"stop"}]}`),
			Want: said("Hi.")},
		{Name: "an object without choices before the reply",
			Body: "data: {\"choices\":{},\"prompt_filter_results\":[]}\n\n" + hello(""), Want: said("Hi.")},
		{Name: "no list of choices in the last chunk", Want: counted("Hi.", agent.Usage{InputTokens: 3, OutputTokens: 2}), Body: sse(
			`{"model":"m","choices":{"index":0,"delta":{"content":"Hi."},"finish_reason":"stop"}}`,
			`{"choices":{},"usage":{"prompt_tokens":3,"completion_tokens":2}}`)},
		{Name: "choices by number", Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: "{}"}), Body: sse(
			`{"model":"m","choices":{"0":{"delta":{"role":"assistant"}}}}`,
			`{"choices":{"0":{"delta":{}},"1":{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}}}`,
			`{"choices":{"0":{"delta":{},"finish_reason":"stop"}}}`)},
		{Name: "choices of another shape", Body: sse(`{"choices":{"0":"Hi."}}`),
			Err: "test: reply not understood: json: cannot unmarshal string into Go struct field chunk.choices of type openai.choice"},
		{Name: "numbers that are not JSON", Source: "Python's json.dumps", Want: said("Hi."), Body: sse(
			`{"model":"m","choices":[{"index":0,"delta":{"content":"Hi."},"logprobs":{"content":[{"logprob":-Infinity},NaN]}}],"usage":NaN}`,
			stopped)},
		{Name: "numbers that are not JSON, without a stream", Want: said("NaN"),
			Body: `{"model":"m","choices":[{"message":{"content":"NaN"},"logprobs":Infinity,"finish_reason":"stop"}],"usage":{"cost":NaN}}`},
		// W9
		{Name: "function_call", Source: "servers of the API of 2023", Body: sse(
			`{"model":"m","choices":[{"delta":{"function_call":{"name":"f","arguments":""}}}]}`,
			`{"model":"m","choices":[{"delta":{"function_call":{"arguments":"{\"a\":"}}}]}`,
			`{"model":"m","choices":[{"delta":{"function_call":{"arguments":"1}"}}}]}`,
			`{"model":"m","choices":[{"delta":{},"finish_reason":"function_call"}]}`),
			Want: called(agent.ToolCall{Name: "f", Arguments: `{"a":1}`})},
		{Name: "function_call beside tool_calls", Body: `{"model":"m","choices":[{"message":{"function_call":{"name":"f","arguments":"{}"},` +
			`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}`,
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: "{}"})},
		// W11
		{Name: "lines that end with CR", Source: "WHATWG, 9.2.5", Body: strings.ReplaceAll(hello(""), "\n", "\r"), Want: said("Hi.")},
		{Name: "one event in several lines", Source: "WHATWG, 9.2.6",
			Body: strings.ReplaceAll(hello(""), `"choices":`, "\ndata: \"choices\":\ndata:"), Want: said("Hi.")},
		{Name: "a byte order mark", Source: "WHATWG, 9.2.5", Body: "\uFEFF" + sse(
			`{"model":"m","choices":[{"delta":{"content":"hi"}}]}`, `{"model":"m","choices":[{"delta":{"content":" you"},"finish_reason":"stop"}]}`),
			Want: said("hi you")},
		// W12
		{Name: "an error without the key", Err: "test: provider unavailable: overloaded",
			Body: "event: error\ndata: {\"message\":\"overloaded\",\"type\":\"server_error\",\"code\":503}\n\n"},
		{Name: "an error as text", Err: "test: provider unavailable: out of memory", Body: "event: error\ndata: out of memory\n\n"},
		{Name: "an error after some text", Err: "test: rate limited: slow down",
			Body: "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\nevent: error\ndata: {\"code\":429,\"msg\":\"slow down\"}\n\n"},
		{Name: "an error that is not framed", Err: "test: provider unavailable: oops",
			Body: "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n{\"error\":{\"message\":\"oops\"}}\n"},
		{Name: "errors with success of false", Source: "Cloudflare", Err: "test: provider unavailable: no such account",
			Body: `{"result":null,"success":false,"errors":[{"code":7003,"message":"no such account"}],"messages":[]}`},
		{Name: "errors with success of false, as an event", Err: "test: provider unavailable: no such account",
			Body: sse(`{"success":false,"errors":[{"code":7003,"message":"no such account"}]}`)},
		{Name: "a message before the stream ends too early", Err: "test: reply cut off: the stream ended without a finish reason: queue is full",
			Body: sse(`{"status":"failed","message":"queue is full"}`)},
		{Name: "a message before the reply",
			Body: "event: status\ndata: {\"status\":\"queued\",\"message\":\"waiting for a GPU\"}\n\n" + hello(""),
			Want: said("Hi.")},
		{Name: "no choices", Err: "test: " + llm.ErrNotAModel.Error() + ": the response has no choices; is /v1 missing from base_url?",
			Body: `{"status":"ok"}`},
		{Name: "an unknown endpoint", Source: "LM Studio", Body: `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`,
			Err: "test: " + llm.ErrNotAModel.Error() + ": Unexpected endpoint or method. (POST /chat/completions); is /v1 missing from base_url?"},
		// W13
		{Name: "usage in x_groq", Source: "Groq",
			Body: hello(`,"x_groq":{"id":"req_1","usage":{"queue_time":0.1,"prompt_tokens":3,"completion_tokens":2}}`),
			Want: counted("Hi.", agent.Usage{InputTokens: 3, OutputTokens: 2})},
		{Name: "a name in pieces", Tools: offered, Body: sse(
			pieces(`{"index":0,"id":"a","function":{"name":"get_"}}`), pieces(`{"index":0,"function":{"name":"thing","arguments":""}}`),
			pieces(`{"index":0,"function":{"arguments":"{}"}}`), stopped),
			Want: called(agent.ToolCall{ID: "a", Name: "get_thing", Arguments: "{}"})},
		{Name: "a name in pieces, of which the first is a tool, too", Tools: offered, Body: sse(
			pieces(`{"index":0,"id":"a","function":{"name":"get"}}`), pieces(`{"index":0,"id":"a","function":{"name":"_thing"}}`),
			pieces(`{"index":0,"function":{"arguments":"{}"}}`), stopped),
			Want: called(agent.ToolCall{ID: "a", Name: "get_thing", Arguments: "{}"})},
		{Name: "a name that is whole in each piece", Tools: offered, Body: sse(
			pieces(`{"index":0,"id":"a","function":{"name":"get_"}}`), pieces(`{"index":0,"id":"a","function":{"name":"get_thing"}}`),
			pieces(`{"index":0,"id":"a","function":{"name":"get_thing","arguments":"{}"}}`), stopped),
			Want: called(agent.ToolCall{ID: "a", Name: "get_thing", Arguments: "{}"})},
		{Name: "a name in pieces without an index", Tools: offered, Body: sse(
			pieces(`{"function":{"name":"get_"}}`), pieces(`{"function":{"name":"thing"}}`), pieces(`{"function":{"arguments":"{}"}}`), stopped),
			Want: called(agent.ToolCall{Name: "get_thing", Arguments: "{}"})},
		{Name: "sparse indexes", Body: sse(pieces(`{"index":5,"id":"a","function":{"name":"f"}},{"index":9,"id":"b","function":{"name":"g"}}`),
			pieces(`{"index":5,"function":{"arguments":"{\"a\":1}"}},{"index":9,"function":{"arguments":"{\"b\":2}"}}`), stopped),
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`}, agent.ToolCall{ID: "b", Name: "g", Arguments: `{"b":2}`})},
	})
}

// TestResponsesSpellings is TestSpellings for the Responses API.
func TestResponsesSpellings(t *testing.T) {
	t.Parallel()
	ended := func(usage string) string {
		return `{"type":"response.completed","response":{"id":7,"status":"completed","model":"m","error":null` +
			`,"incomplete_details":[],"usage":` + usage + `}}`
	}
	hello := `{"type":"response.output_text.delta","item_id":7,"output_index":"0","delta":"Hi."}`
	call := func(args string) string {
		return `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc"` +
			`,"call_id":17,"name":"f","arguments":` + args + `}}`
	}
	llmtest.RunSpellings(t, func(baseURL string) llm.Client { return openResponses(t, baseURL) }, []llmtest.Spelling{
		{Name: "usage with fractions", Body: sse(hello, ended(`{"input_tokens":3.0,"output_tokens":"2","input_tokens_details":[]}`)),
			Want: counted("Hi.", agent.Usage{InputTokens: 3, OutputTokens: 2})},
		{Name: "usage of another shape", Body: sse(hello, ended(`"none"`)), Want: said("Hi.")},
		{Name: "an empty error", Body: sse(hello, strings.Replace(ended(`null`), `"error":null`, `"error":{}`, 1)), Want: said("Hi.")},
		{Name: "arguments as an object, numeric id", Body: sse(call(`{"a":9007199254740993}`), ended(`null`)),
			Want: called(agent.ToolCall{ID: "17", Name: "f", Arguments: `{"a":9007199254740993}`})},
		{Name: "no call_id", Body: sse(strings.Replace(call(`"{}"`), `"call_id":17,`, "", 1), ended(`null`)),
			Want: called(agent.ToolCall{ID: "fc", Name: "f", Arguments: `{}`})},
		{Name: "arguments in the deltas alone", Body: sse(
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\":"}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"1}"}`, call(`""`), ended(`null`)),
			Want: called(agent.ToolCall{ID: "17", Name: "f", Arguments: `{"a":1}`})},
		{Name: "a number that is not JSON", Body: sse(call("NaN"), ended(`{"input_tokens":NaN}`)),
			Want: called(agent.ToolCall{ID: "17", Name: "f"})},
		{Name: "an error without the key", Err: "test: provider unavailable: overloaded",
			Body: "event: error\ndata: {\"message\":\"overloaded\",\"code\":503}\n\n"},
		{Name: "an unknown endpoint", Body: `{"error":"Unexpected endpoint or method. (POST /responses)"}`,
			Err: "test: " + llm.ErrNotAModel.Error() + ": Unexpected endpoint or method. (POST /responses); is /v1 missing from base_url?"},
		{Name: "no status", Body: `{"object":"list"}`,
			Err: "test: " + llm.ErrNotAModel.Error() + ": the response has no status; is /v1 missing from base_url?"},
	})
}

func TestEndlessArguments(t *testing.T) {
	t.Parallel()
	llmtest.RunEndlessArguments(t, func(baseURL string) llm.Client { return open(t, baseURL) },
		"data: "+pieces(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"q\":\""}}`)+"\n\n",
		func(text string) string {
			return "data: " + pieces(`{"index":0,"function":{"arguments":`+text+`}}`) + "\n\n"
		})
}

func TestEndlessArgumentsOfResponses(t *testing.T) {
	t.Parallel()
	llmtest.RunEndlessArguments(t, func(baseURL string) llm.Client { return openResponses(t, baseURL) },
		`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f"}}`+"\n\n",
		func(text string) string {
			return `data: {"type":"response.function_call_arguments.delta","output_index":0,"delta":` + text + "}\n\n"
		})
}

func TestMutations(t *testing.T) {
	t.Parallel()
	llmtest.RunMutations(t, "openai", func(baseURL string) llm.Client { return open(t, baseURL) })
}

func TestMutationsOfResponses(t *testing.T) {
	t.Parallel()
	llmtest.RunMutations(t, "responses", func(baseURL string) llm.Client { return openResponses(t, baseURL) })
}

// streamed returns a text in pieces of one character.
func streamed(text, finish string) string {
	var chunks []string
	for _, r := range text {
		content, _ := json.Marshal(string(r)) // cannot fail: a string
		chunks = append(chunks, `{"model":"m","choices":[{"index":0,"delta":{"content":`+string(content)+`}}]}`)
	}
	return sse(append(chunks, `{"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"`+finish+`"}]}`)...)
}

// TestWritten checks text in which a server without a parser for its model has left thinking and calls. Package written
// has all notations.
func TestWritten(t *testing.T) {
	t.Parallel()
	const call = `<tool_call>{"name": "f", "arguments": {"q": "x"}}</tool_call>`
	f := agent.ToolCall{ID: "call_0", Name: "f", Arguments: `{"q": "x"}`}
	native := `{"model":"m","choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"q\":\"x\"}"}}]},` +
		`"finish_reason":"tool_calls"}]}`
	content := func(text string) string {
		data, _ := json.Marshal(text) // cannot fail: a string
		return `{"model":"m","choices":[{"delta":{"content":` + string(data) + `}}]}`
	}
	llmtest.RunSpellings(t, func(baseURL string) llm.Client { return open(t, baseURL) }, []llmtest.Spelling{
		{Name: "a call", Source: "omlx issue 2565", Tools: offered, Body: streamed(call, "stop"), Want: called(f)},
		{Name: "a call after a text", Tools: offered, Body: streamed("Let me see.\n"+call, "stop"), Want: llm.Response{Model: "m",
			Finish: llm.FinishToolCalls, Content: "Let me see.", ToolCalls: []agent.ToolCall{f}}},
		{Name: "a call that the server has read too", Tools: offered, Body: sse(content(call), native),
			Want: called(agent.ToolCall{ID: "a", Name: "f", Arguments: `{"q":"x"}`})},
		{Name: "a call beside another one", Tools: offered, Body: sse(content(strings.Replace(call, `"x"`, `"y"`, 1)), native),
			Want: llm.Response{Model: "m", Finish: llm.FinishToolCalls, Content: strings.Replace(call, `"x"`, `"y"`, 1),
				ToolCalls: []agent.ToolCall{{ID: "a", Name: "f", Arguments: `{"q":"x"}`}}}},
		{Name: "a call that may be cut", Tools: offered, Body: streamed(call, "length"),
			Want: llm.Response{Model: "m", Finish: llm.FinishLength, Content: call}},
		{Name: "a call without an offer", Body: streamed(call, "stop"), Want: said(call)},
		{Name: "a call to a tool that is not offered", Tools: offered, Body: streamed(strings.Replace(call, `"f"`, `"h"`, 1), "stop"),
			Want: said(strings.Replace(call, `"f"`, `"h"`, 1))},
		{Name: "prose about a call", Tools: offered, Body: streamed("The reply holds `"+call+"` as text.", "stop"),
			Want: said("The reply holds `" + call + "` as text.")},
		{Name: "thoughts", Source: "servers of DeepSeek R1 and Qwen without a parser", Body: streamed("<think>\nhm\n</think>\n\nYes.", "stop"),
			Want: llm.Response{Model: "m", Finish: llm.FinishStop, Thinking: "hm", Content: "Yes."}},
		{Name: "thoughts, then a call", Tools: offered, Body: streamed("<think>\nhm\n</think>\n\n"+call, "stop"),
			Want: llm.Response{Model: "m", Finish: llm.FinishToolCalls, Thinking: "hm", ToolCalls: []agent.ToolCall{f}}},
		{Name: "calls that are missing", Body: streamed("Let me see.", "tool_calls"), Want: said("Let me see.")},
	})
}

package llmtest

import (
	"net/http"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// anthropicCases are variants of the Messages API.
func anthropicCases() []replyCase {
	yes := llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m"}
	counted := yes
	counted.Usage = agent.Usage{InputTokens: 2110, OutputTokens: 30, CacheReadTokens: 2000, CacheWriteTokens: 100, ReasoningTokens: 21}
	ended := func(finish llm.Finish) llm.Response {
		return llm.Response{Content: "Yes.", Finish: finish, Model: "m"}
	}
	said := Text("Yes.").Usage(0, 0)
	return []replyCase{
		{"signed thoughts", said.Thinking("hm").Signed("c2ln"),
			llm.Response{Thinking: "hm", Content: "Yes.", Finish: llm.FinishStop, Model: "m"}},
		{"thoughts that are not shown", said.Signed("c2ln"), yes},
		{"cached input beside the input", Raw(`{"type":"message_start","message":{"model":"m","usage":{"input_tokens":10,`+
			`"cache_read_input_tokens":2000,"cache_creation_input_tokens":100,"output_tokens":1}}}`, anthropicYes,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},`+
				`"usage":{"output_tokens":30,"output_tokens_details":{"thinking_tokens":21}}}`,
			anthropicStop), counted},
		{"counts that take the place of others", Raw(
			`{"type":"message_start","message":{"model":"m","usage":{"input_tokens":2110,"output_tokens":1}}}`, anthropicYes,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":10,"cache_read_input_tokens":2000,`+
				`"cache_creation_input_tokens":100,"output_tokens":30,"output_tokens_details":{"thinking_tokens":21}}}`, anthropicStop), counted},
		{"events, blocks, deltas and fields of unknown kinds", Raw(anthropicStart, `{"type":"weather","sky":"blue"}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"hologram","depth":3}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"light_delta","light":9}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"Ye"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"s."}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}`, anthropicEnd, anthropicStop), yes},
		{"repetition after the input usage is known", Raw(`{"type":"message_start","message":{"model":"m","usage":{"input_tokens":10,`+
			`"cache_read_input_tokens":2000,"cache_creation_input_tokens":100,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"`+strings.Repeat(repeated, 9)+`"}}`),
			llm.Response{Content: repeated, Finish: llm.FinishRepeating, Model: "m",
				Usage: agent.Usage{InputTokens: 2110, CacheReadTokens: 2000, CacheWriteTokens: 100}}},
		{"a stream that does not say that it ends", Raw(anthropicStart, anthropicYes, anthropicEnd), yes},
		{"no stream at all",
			Status(http.StatusOK, `{"type":"message","model":"m","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn",`+
				"\n"+`"usage":{}}`), yes},
		// Models think for minutes and send only pings meanwhile: anthropic-sdk-typescript, issue 998.
		{"pings keep it alive", Raw(anthropicStart, anthropicPing, anthropicPing, anthropicPing, anthropicPing, anthropicPing,
			anthropicYes+"\n"+anthropicEnd+"\n"+anthropicStop).Chunked(0, Idle/4), yes},
		{"stop sequence", said.Finish("stop_sequence"), yes},
		{"the window is full", said.Finish("model_context_window_exceeded"), ended(llm.FinishLength)},
		{"a paused turn", said.Finish("pause_turn"), ended(llm.FinishPaused)},
		{"a call without arguments",
			Raw(anthropicStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, anthropicStop),
			llm.Response{ToolCalls: []agent.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}, Finish: llm.FinishToolCalls, Model: "m"}},
		{"a call that was cut",
			Raw(anthropicStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"q\":\"lo"}}`,
				`{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`, anthropicStop),
			llm.Response{ToolCalls: []agent.ToolCall{{ID: "a", Name: "f", Arguments: `{"q":"lo`}}, Finish: llm.FinishLength, Model: "m"}},
	}
}

const (
	anthropicStart = `{"type":"message_start","message":{"model":"m","content":[],"usage":{}}}`
	anthropicYes   = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Yes."}}`
	anthropicEnd   = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}`
	anthropicPing  = `{"type":"ping"}`
	anthropicStop  = `{"type":"message_stop"}`
)

// anthropicErrors are errors in variants of the Messages API.
func anthropicErrors() []errorCase {
	story := Text("It is the disk.").Chunked(3, 0)
	kind := func(status int, name, message string) Reply { return Refuse(status, name, message) }
	reset := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	return []errorCase{
		{name: "overloaded in the stream", reply: story.ErrorAfter(2, "overloaded_error", "Overloaded"), kind: llm.ErrUnavailable},
		{name: "an error of a new kind in the stream", reply: story.ErrorAfter(2, "weather_error", "rain"), kind: llm.ErrUnavailable},
		{name: "pings, then silence", reply: Raw(anthropicStart, anthropicPing).Stall(2), kind: llm.ErrStalled},
		{name: "nothing but pings", reply: Raw(anthropicPing, anthropicPing), kind: llm.ErrTruncated},
		{name: "chunk of another shape", reply: story.Insert(1, `{"type":7}`), kind: llm.ErrMalformed},
		{name: "a delta of another shape", kind: llm.ErrMalformed,
			reply: story.Insert(1, `{"type":"content_block_delta","index":0,"delta":"none"}`)},
		{name: "refused", reply: Text("").Finish("refusal"), kind: llm.ErrContentFiltered},
		{name: "403", reply: kind(403, "permission_error", "no"), kind: llm.ErrAuth},
		{name: "404", reply: kind(404, "not_found_error", "model: claude-9"), kind: llm.ErrInvalidRequest},
		{name: "402", reply: kind(402, "billing_error", "pay"), kind: llm.ErrQuotaExhausted},
		{name: "413", reply: kind(413, "request_too_large", "Request exceeds the maximum size"), kind: llm.ErrContextTooLong},
		{name: "504", reply: kind(504, "timeout_error", "late"), kind: llm.ErrUnavailable},
		{name: "an error of a new kind", reply: kind(418, "teapot_error", "short and stout"), kind: llm.ErrInvalidRequest},
		{name: "the window with the reply",
			reply: kind(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 198112 + 32000 > 200000"),
			kind:  llm.ErrContextTooLong},
		{name: "the account's own spend limit", reply: kind(400, "invalid_request_error", "You have reached your specified API usage limits."),
			kind: llm.ErrQuotaExhausted},
		{name: "the tier's spend limit", kind: llm.ErrQuotaExhausted,
			reply: Status(429,
				`{"type":"error","error":{"type":"rate_limit_error","message":"no","details":{"error_code":"enforced_spend_limit_reached"}}}`)},
		{name: "429 with a limit's reset alone", retryAfter: time.Hour, kind: llm.ErrRateLimited,
			reply: RateLimited(0).Header("Anthropic-Ratelimit-Tokens-Remaining", "0").Header("Anthropic-Ratelimit-Tokens-Reset", reset)},
		{name: "529 with Retry-After", reply: kind(529, "overloaded_error", "Overloaded").Header("Retry-After", "5"), kind: llm.ErrUnavailable,
			retryAfter: 5 * time.Second},
		{name: "a redirect", reply: Status(307, "").Header("Location", "/elsewhere"), kind: llm.ErrNotAModel},
	}
}

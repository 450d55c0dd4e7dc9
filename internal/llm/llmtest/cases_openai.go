package llmtest

import (
	"net/http"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// openAICases are variants of chat completions.
func openAICases() []replyCase {
	return []replyCase{
		{"reasoning", Raw(`{"model":"m","choices":[{"delta":{"reasoning":"hm","content":null}}]}`, end),
			llm.Response{Thinking: "hm", Finish: llm.FinishStop, Model: "m"}},
		{"reasoning, twice the same", Raw(`{"model":"m","choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}`, end),
			llm.Response{Thinking: "hm", Finish: llm.FinishStop, Model: "m"}},
		{"no stream at all", Status(http.StatusOK, `{"object":"chat.completion","model":"m","choices":[{"message":{"content":"Yes."},`+
			"\n"+`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`), llm.Response{
			Content: "Yes.", Finish: llm.FinishStop, Model: "m", Usage: agent.Usage{InputTokens: 3, OutputTokens: 2}}},
		{"parts of the usage", Raw(`{"model":"m","choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,` +
			`"completion_tokens":7,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":3},` +
			`"completion_tokens_details":{"reasoning_tokens":5}}}`), llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m",
			Usage: agent.Usage{InputTokens: 9, OutputTokens: 7, CacheReadTokens: 4, CacheWriteTokens: 3, ReasoningTokens: 5}}},
		{"cached input of DeepSeek", Raw(`{"model":"m","choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}],` +
			`"usage":{"prompt_tokens":9,"completion_tokens":7,"total_tokens":16,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":1}}`),
			llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m",
				Usage: agent.Usage{InputTokens: 9, OutputTokens: 7, CacheReadTokens: 8}}},
		{"thoughts of xAI's, beside the completion", Raw(`{"model":"m","choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}],` +
			`"usage":{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}}`),
			llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m",
				Usage: agent.Usage{InputTokens: 32, OutputTokens: 103, ReasoningTokens: 94}}},
		// https://discuss.ai.google.dev/t/question-with-usage-in-openai-compatibility/98760 (read 2026-11-23)
		{"thoughts of Gemini's, in the total alone", Raw(`{"model":"m","choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}],` +
			`"usage":{"completion_tokens":102,"prompt_tokens":758,"total_tokens":1725}}`),
			llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m",
				Usage: agent.Usage{InputTokens: 758, OutputTokens: 967, ReasoningTokens: 865}}},
		// https://github.com/AstrBotDevs/AstrBot/issues/6614 (read 2026-11-23)
		{"usage of Moonshot's, in the choice", Raw(`{"model":"m","choices":[{"delta":{"content":"Yes."}}],"usage":null}`,
			`{"model":"m","choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":1336,"completion_tokens":31,"total_tokens":1367,`+
				`"cached_tokens":1280}}]}`, `{"model":"m","choices":[],"usage":{}}`),
			llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m",
				Usage: agent.Usage{InputTokens: 1336, OutputTokens: 31, CacheReadTokens: 1280}}},
		{"an empty finish after the finish", Text("It is").Usage(0, 0).Insert(2, `{"choices":[{"delta":{},"finish_reason":""}]}`),
			llm.Response{Content: "It is", Finish: llm.FinishStop, Model: "m"}},
		{"repeating beside a call", Raw(delta(`{"id":"a","function":{"name":"shell"}}`),
			`{"model":"m","choices":[{"delta":{"content":"`+strings.Repeat(repeated, 9)+`"}}]}`, end),
			llm.Response{Content: repeated, Finish: llm.FinishRepeating, Model: "m"}},
	}
}

// openAICallCases are two parallel calls in all the ways in which servers send them.
func openAICallCases() []replyCase {
	calls := twoCalls()
	called := llm.Response{ToolCalls: calls, Finish: llm.FinishToolCalls, Model: "m"}
	return []replyCase{
		{"no index", Raw(delta(`{"id":"a","function":{"name":"shell","arguments":"{\"command\""}}`),
			delta(`{"function":{"arguments":":\"ls\"}"}}`),
			delta(`{"id":"b","function":{"name":"loki__query","arguments":"{\"q\":1}"}}`), end), called},
		{"no index, one chunk", Raw(delta(`{"id":"a","function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}},`+
			`{"id":"b","function":{"name":"loki__query","arguments":"{\"q\":1}"}}`), end), called},
		{"no index and another name", Raw(delta(`{"id":"a"}`), delta(`{"function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}}`),
			delta(`{"id":"b"}`), delta(`{"function":{"name":"loki__query"}}`), delta(`{"function":{"arguments":"{\"q\":1}"}}`), end), called},
		{"neither index nor id", Raw(delta(`{"function":{"name":"shell","arguments":"1"}},{"function":{"name":"shell","arguments":"2"}}`), end),
			llm.Response{
				ToolCalls: []agent.ToolCall{{Name: "shell", Arguments: "1"}, {Name: "shell", Arguments: "2"}},
				Finish:    llm.FinishToolCalls, Model: "m"}},
		{"fragments, mixed", Raw(delta(`{"index":0,"id":"a","function":{"name":"shell","arguments":""}}`),
			delta(`{"index":1,"id":"b","function":{"name":"loki__query","arguments":"{\"q\""}},{"index":0,"function":{"arguments":"{\"command\""}}`),
			delta(`{"index":0,"function":{"arguments":":\"ls\"}"}},{"index":1,"function":{"arguments":":1}"}}`), end), called},
		{"every call at index 0", Raw(delta(`{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}}`),
			delta(`{"index":0,"id":"b","function":{"name":"loki__query","arguments":"{\"q\":1}"}}`), end), called},
		{"a new id with every fragment", Raw(delta(`{"index":0,"id":"a","function":{"name":"shell","arguments":"{\"command\""}}`),
			delta(`{"index":0,"id":"z","function":{"arguments":":\"ls\"}"}},{}`), end),
			llm.Response{ToolCalls: calls[:1], Finish: llm.FinishToolCalls, Model: "m"}},
	}
}

// end is the last chunk of a hand-written stream.
const end = `{"model":"m","choices":[{"delta":{},"finish_reason":"stop"}]}`

func delta(calls string) string {
	return `{"model":"m","choices":[{"delta":{"tool_calls":[` + calls + `]}}]}`
}

const (
	responsesKeep = `{"type":"keepalive","sequence_number":3}` // https://github.com/openai/openai-node/issues/1964
	responsesYes  = `{"type":"response.output_text.delta","delta":"Yes."}`
	responsesDone = `{"type":"response.completed","response":{"status":"completed","model":"m","output":[]}}`
)

// responsesCases are variants of the Responses API.
func responsesCases() []replyCase {
	yes := llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m"}
	return []replyCase{
		{"what keeps it alive", Raw(responsesKeep, responsesKeep, responsesKeep, responsesKeep, responsesKeep, responsesKeep,
			responsesYes+"\n"+responsesDone).Chunked(0, Idle/4), yes},
		{"events and items of unknown kinds", Raw(`{"type":"response.weather","sky":"blue"}`,
			`{"type":"response.output_item.done","item":{"type":"hologram","depth":3}}`, responsesYes, responsesDone), yes},
		{"no stream at all", Status(200, `{"object":"response","status":"completed","model":"m",`+
			`"output":[{"type":"message","content":[{"type":"output_text","text":"Yes."}]}]}`), yes},
		{"no stream at all, by an open model", Status(200, `{"object":"response","status":"completed","model":"m","output":[`+
			`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},`+
			`{"type":"message","content":[{"type":"output_text","text":"I look."}]},`+
			`{"type":"message","content":[{"type":"output_text","text":"Yes."}]}]}`),
			llm.Response{Thinking: "hm", Content: "I look.\n\nYes.", Finish: llm.FinishStop, Model: "m"}},
		{"summaries in parts", Raw(`{"type":"response.reasoning_summary_text.delta","summary_index":0,"delta":"hm"}`,
			`{"type":"response.reasoning_summary_part.added","summary_index":1}`,
			`{"type":"response.reasoning_summary_text.delta","summary_index":1,"delta":"so"}`,
			`{"type":"response.output_item.done","item":{"type":"reasoning","summary":[{"text":"hm"},{"text":"so"}]}}`, responsesYes, responsesDone),
			llm.Response{Thinking: "hm\n\nso", Content: "Yes.", Finish: llm.FinishStop, Model: "m"}},
		{"a refusal", Raw(`{"type":"response.refusal.delta","delta":"I cannot."}`, responsesDone),
			llm.Response{Content: "I cannot.", Finish: llm.FinishStop, Model: "m"}},
		{"filtered within", Raw(responsesYes,
			`{"type":"response.incomplete","response":{"status":"incomplete","model":"m","incomplete_details":{"reason":"content_filter"}}}`),
			llm.Response{Content: "Yes.", Finish: llm.FinishFiltered, Model: "m"}},
		{"a call that was cut",
			Raw(`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"a","name":"f","arguments":"{\"q\":\"lo"}}`,
				`{"type":"response.incomplete","response":{"status":"incomplete","model":"m","incomplete_details":{"reason":"max_output_tokens"}}}`),
			llm.Response{ToolCalls: []agent.ToolCall{{ID: "a", Name: "f", Arguments: `{"q":"lo`}}, Finish: llm.FinishLength, Model: "m"}},
	}
}

// responsesErrors are errors in variants of the Responses API.
func responsesErrors() []errorCase {
	story := Text("It is the disk.").Chunked(3, 0)
	failed := func(code string) Reply {
		return story.Insert(2, `{"type":"response.failed","response":{"status":"failed","error":{"code":"`+code+`","message":"no"}}}`)
	}
	return []errorCase{
		{name: "overloaded in the stream", reply: story.ErrorAfter(2, "server_is_overloaded", "Our servers are currently overloaded."),
			kind: llm.ErrUnavailable},
		{name: "an error within an error in the stream", kind: llm.ErrRateLimited,
			reply: story.Insert(2, `{"type":"error","error":{"type":"too_many_requests","code":"too_many_requests","message":"slow down"}}`)},
		{name: "failed", reply: failed("server_error"), kind: llm.ErrUnavailable},
		{name: "failed by a limit", reply: failed("rate_limit_exceeded"), kind: llm.ErrRateLimited},
		// The message is from https://github.com/openai/codex/issues/2255.
		{name: "failed by a limit that says when", kind: llm.ErrRateLimited, retryAfter: 28 * time.Millisecond,
			reply: story.Insert(2, `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":`+
				`"Rate limit reached for gpt-5 on tokens per min (TPM): Limit 40000000, Used 40000000. Please try again in 28ms. Visit …"}}}`)},
		// The codes are those of openai-go 3.96.0, ResponseErrorCode.
		{name: "failed by the prompt", reply: failed("invalid_prompt"), kind: llm.ErrContentFiltered},
		{name: "failed by a policy", reply: failed("bio_policy"), kind: llm.ErrContentFiltered},
		{name: "failed by a policy on images", reply: failed("image_content_policy_violation"), kind: llm.ErrContentFiltered},
		{name: "failed by an image", reply: failed("unsupported_image_media_type"), kind: llm.ErrInvalidRequest},
		{name: "failed by an image that was away", reply: failed("failed_to_download_image"), kind: llm.ErrUnavailable},
		{name: "failed by where it is", reply: failed("data_residency_mismatch"), kind: llm.ErrInvalidRequest},
		{name: "failed by a store", reply: failed("vector_store_timeout"), kind: llm.ErrUnavailable},
		{name: "failed without a reason", kind: llm.ErrTruncated,
			reply: story.Insert(2, `{"type":"response.failed","response":{"status":"failed","error":null,"usage":null}}`)},
		{name: "400 about the prompt", kind: llm.ErrContentFiltered,
			reply: Refuse(400, "invalid_prompt", "Invalid prompt: your prompt was flagged as potentially violating our usage policy.")},
		{name: "failed without credit", reply: failed("insufficient_quota"), kind: llm.ErrQuotaExhausted},
		{name: "cancelled", reply: story.Insert(2, `{"type":"response.incomplete","response":{"status":"cancelled"}}`), kind: llm.ErrTruncated},
		{name: "what keeps it alive, then silence", reply: Raw(responsesKeep, responsesKeep).Stall(2), kind: llm.ErrStalled},
		{name: "nothing but what keeps it alive", reply: Raw(responsesKeep, responsesKeep), kind: llm.ErrTruncated},
		{name: "chunk of another shape", reply: story.Insert(1, `{"type":7}`), kind: llm.ErrMalformed},
		{name: "a delta of another shape", reply: story.Insert(1, `{"type":"response.output_text.delta","delta":7}`), kind: llm.ErrMalformed},
		{name: "thoughts that were changed", kind: llm.ErrInvalidRequest,
			reply: Refuse(400, "invalid_encrypted_content", "The encrypted content gAAA...c90= could not be verified.")},
		{name: "a redirect", reply: Status(307, "").Header("Location", "/elsewhere"), kind: llm.ErrNotAModel},
	}
}

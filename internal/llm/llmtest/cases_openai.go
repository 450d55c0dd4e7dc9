package llmtest

import (
	"net/http"
	"strings"

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
		{"no index and a name of its own", Raw(delta(`{"id":"a"}`), delta(`{"function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}}`),
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

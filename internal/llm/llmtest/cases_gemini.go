package llmtest

import (
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
)

// geminiCases are variants of generateContent.
func geminiCases() []replyCase {
	signed := wireCalls(twoCalls()).Signed("c2ln").Usage(0, 0)
	return []replyCase{
		{"signed calls", signed, llm.Response{ToolCalls: twoCalls(), Finish: llm.FinishToolCalls, Model: "m"}},
		{"a signature on an empty part", Text("It is").Signed("c2ln").Usage(0, 0),
			llm.Response{Content: "It is", Finish: llm.FinishStop, Model: "m"}},
		{"tokens of thoughts", Raw(`{"modelVersion":"m","candidates":[{"content":{"parts":[{"text":"Yes."}]},"finishReason":"STOP"}],
			"usageMetadata":{"promptTokenCount":3,"toolUsePromptTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":6}}`),
			llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m",
				Usage: agent.Usage{InputTokens: 7, OutputTokens: 11, ReasoningTokens: 6}}},
		{"cached input, and images", Raw(`{"modelVersion":"m","candidates":[{"content":{"parts":[{"text":"Yes."}]},"finishReason":"STOP"}],
			"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":5,
			"promptTokensDetails":[{"modality":"TEXT","tokenCount":6},{"modality":"IMAGE","tokenCount":3}]}}`),
			llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m",
				Usage: agent.Usage{InputTokens: 9, OutputTokens: 5, CacheReadTokens: 4, ImageTokens: 3}}},
		{"calls without ids", Raw(parts(`{"functionCall":{"name":"f"}},{"functionCall":{"name":"f","args":{"a":"<"}}}`), geminiEnd), llm.Response{
			ToolCalls: []agent.ToolCall{{ID: "call_0", Name: "f", Arguments: "{}"}, {ID: "call_1", Name: "f", Arguments: `{"a":"<"}`}},
			Finish:    llm.FinishToolCalls, Model: "m"}},
		{"code and its output", Raw(parts(`{"executableCode":{"language":"PYTHON","code":"print(6*7)"}},
			{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"42\n"}},{"text":"42."}`), geminiEnd),
			llm.Response{Content: "```python\nprint(6*7)\n```\n```\n42\n```\n42.", Finish: llm.FinishStop, Model: "m"}},
		{"repeating beside a call", Raw(parts(`{"functionCall":{"name":"f"}},{"text":"`+strings.Repeat(repeated, 9)+`"}`), geminiEnd),
			llm.Response{Content: repeated, Finish: llm.FinishRepeating, Model: "m"}},
		{"a part of an unknown kind", Raw(parts(`{"hologram":{}},{"text":"Yes."}`), geminiEnd),
			llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m"}},
		{"a finish reason alone", Raw(parts(`{"text":"Yes."}`), `{"modelVersion":"m","candidates":[{"finishReason":"STOP"}]}`),
			llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m"}},
		{"one that is to be continued", Text("Yes.").Finish("CONTINUATION").Usage(0, 0),
			llm.Response{Content: "Yes.", Finish: llm.FinishPaused, Model: "m"}},
	}
}

// arrayCases are for a client without thinking and call ids.
func arrayCases() []replyCase {
	calls := twoCalls()
	calls[0].ID, calls[1].ID = "call_0", "call_1"
	return []replyCase{
		{"parallel calls", wireCalls(twoCalls()).Thinking("hm").Text("Let me see.").Signed("c2ln").Usage(0, 0).Chunked(2, 0),
			llm.Response{Content: "Let me see.", ToolCalls: calls, Finish: llm.FinishToolCalls, Model: "m"}},
		{"a part of an unknown kind", Raw(parts(`{"hologram":{}},{"text":"Yes."}`), geminiEnd),
			llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m"}},
		{"a finish reason alone", Raw(parts(`{"text":"Yes."}`), `{"modelVersion":"m","candidates":[{"finishReason":"STOP"}]}`),
			llm.Response{Content: "Yes.", Finish: llm.FinishStop, Model: "m"}},
	}
}

// geminiErrors are errors in variants of generateContent.
func geminiErrors() []errorCase {
	finish := func(reason string) Reply { return Text("").Finish(reason) }
	return []errorCase{
		{name: "chunk of another shape", reply: Text("It is").Insert(1, `{"candidates":"none"}`), kind: llm.ErrMalformed},
		{name: "malformed call", reply: finish("MALFORMED_FUNCTION_CALL"), kind: llm.ErrMalformed},
		{name: "malformed call after some text", reply: Text("It is").Finish("MALFORMED_FUNCTION_CALL"), kind: llm.ErrMalformed},
		{name: "a call of no tool", reply: finish("UNEXPECTED_TOOL_CALL"), kind: llm.ErrMalformed},
		{name: "recitation", reply: finish("RECITATION"), kind: llm.ErrContentFiltered},
		{name: "blocklist", reply: finish("BLOCKLIST"), kind: llm.ErrContentFiltered},
		{name: "no reason at all", reply: Raw(parts(`{"text":"It is"}`), `{"candidates":[{"finishReason":"FINISH_REASON_UNSPECIFIED"}]}`),
			kind: llm.ErrTruncated},
		{name: "blocked prompt", reply: Raw(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`), kind: llm.ErrContentFiltered},
		{name: "403", reply: Status(403, `{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}`), kind: llm.ErrAuth},
		{name: "404 in a list", reply: Status(404, `[{"error":{"code":404,"message":"no such model","status":"NOT_FOUND"}}]`),
			kind: llm.ErrInvalidRequest},
		{name: "503 without words", reply: Status(503, ""), kind: llm.ErrUnavailable},
		{name: "a redirect", reply: Status(307, "").Header("Location", "/elsewhere"), kind: llm.ErrNotAModel},
	}
}

// geminiEnd is the last chunk of a hand-written stream.
const geminiEnd = `{"modelVersion":"m","candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP"}]}`

// parts returns a chunk with these parts.
func parts(list string) string {
	return `{"modelVersion":"m","candidates":[{"content":{"role":"model","parts":[` + list + `]}}]}`
}

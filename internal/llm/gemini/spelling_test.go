package gemini_test

import (
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// TestSpellings checks bookkeeping in many forms. W14 is a finding of a comparison with public bug reports.
func TestSpellings(t *testing.T) {
	t.Parallel()
	said := llm.Response{Model: "m", Finish: llm.FinishStop, Content: "Hi."}
	counted := said
	counted.Usage = agent.Usage{InputTokens: 3, OutputTokens: 3, ReasoningTokens: 1}
	candidate := func(parts, rest string) string {
		return "data: {\"modelVersion\":\"m\",\"candidates\":[{\"content\":{\"parts\":[" + parts +
			"]},\"finishReason\":\"STOP\"" + rest + "}]}\n\n"
	}
	call := llm.Response{Model: "m", Finish: llm.FinishToolCalls, ToolCalls: []agent.ToolCall{
		{ID: "call_0", Name: "f", Arguments: `{"n":9007199254740993}`}}}
	const hi = `{"text":"Hi."}`
	llmtest.RunSpellings(t, func(baseURL string) llm.Client { return open(t, baseURL) }, []llmtest.Spelling{
		// W14
		{Name: "a signature in the URL alphabet", Body: candidate(`{"text":"Hi.","thoughtSignature":"-_-_"}`, ""), Want: said},
		{Name: "a signature that is not base64", Body: candidate(`{"text":"Hi.","thoughtSignature":"%"}`, ""), Want: said},
		{Name: "an average of NaN", Body: candidate(hi, `,"avgLogprobs":"NaN"`), Want: said},
		{Name: "an average that is not JSON", Body: candidate(hi, `,"avgLogprobs":NaN,"logprobsResult":[-Infinity]`), Want: said},
		{Name: "a missing signature", Body: candidate("", `,"finishMessage":"no signature"`)[:0] +
			"data: {\"candidates\":[{\"finishReason\":\"MISSING_THOUGHT_SIGNATURE\"}]}\n\n",
			Err: "test: request refused: MISSING_THOUGHT_SIGNATURE"},
		{Name: "an unknown reason and nothing else", Body: "data: {\"candidates\":[{\"finishReason\":\"OTHER\"}]}\n\n",
			Err: "test: reply not understood: OTHER"},
		// The other kinds of bookkeeping
		{Name: "usage in other spellings", Want: counted, Body: candidate(hi, "") +
			"data: {\"usageMetadata\":{\"promptTokenCount\":3.0,\"candidatesTokenCount\":\"2\",\"thoughtsTokenCount\":1e0," +
			"\"promptTokensDetails\":{}," +
			"\"cacheTokensDetails\":7,\"trafficType\":[]}}\n\n"},
		{Name: "usage of another shape", Body: candidate(hi, "") + "data: {\"usageMetadata\":[]}\n\n", Want: said},
		{Name: "every other field of another shape", Want: said, Body: candidate(`{"text":"Hi.","thought":"false","partMetadata":7}`,
			`,"index":"0","tokenCount":"many","safetyRatings":{},"citationMetadata":[],"groundingMetadata":[]`+
				`,"urlContextMetadata":"x","logprobsResult":7`)},
		{Name: "large numbers in arguments", Body: candidate(`{"functionCall":{"name":"f","args":{"n":9007199254740993}}}`, ""), Want: call},
		{Name: "arguments as text", Body: candidate(`{"functionCall":{"name":"f","id":null,"args":"{\"n\":9007199254740993}"}}`, ""), Want: call},
		{Name: "a content that is a text", Want: said,
			Body: "data: {\"modelVersion\":\"m\",\"candidates\":[{\"content\":\"Hi.\",\"finishReason\":\"STOP\"}]}\n\n"},
		{Name: "the call in another candidate",
			Body: "data: {\"modelVersion\":\"m\",\"candidates\":[{\"finishReason\":\"STOP\"},{\"content\":{\"parts\":[" +
				`{"functionCall":{"name":"f","args":{"n":9007199254740993}}}` + "]}}]}\n\n", Want: call},
		// W11
		{Name: "a byte order mark and lines that end with CR",
			Body: "\uFEFFdata: {\"modelVersion\":\"m\",\rdata: \"candidates\":[{\"content\":{\"parts\":[" + hi +
				"]},\"finishReason\":\"STOP\"}]}\r\r", Want: said},
		{Name: "[DONE] of a gateway", Body: candidate(hi, "") + "data: [DONE]\n\n", Want: said},
		{Name: "[done] of a gateway, and an error after the end", Want: said,
			Body: candidate(hi, "") + "data: [done]\n\ndata: {\"error\":{\"message\":\"oops\"}}\n\n"},
		{Name: "no JSON after the end", Body: candidate(hi, "") + "data: oops\n\n", Want: said},
		{Name: "the end in small letters", Body: strings.Replace(candidate(hi, ""), "STOP", "stop", 1), Want: said},
		{Name: "no stream", Body: `{"modelVersion":"m","candidates":[{"content":{"parts":[{"text":"Hi."}]},"finishReason":"STOP"}]}`, Want: said},
		{Name: "plain text before the stream ends too early",
			Err:  "test: reply cut off: the stream ended without a finish reason: upstream connect error or disconnect/reset before headers",
			Body: "data: upstream connect error or disconnect/reset before headers\n\ndata: : keepalive\n\n"},
		// W12, W4
		{Name: "an error as text", Body: "data: {\"error\":\"out of memory\"}\n\n", Err: "test: provider unavailable: out of memory"},
		{Name: "an error without the key", Body: "event: error\ndata: {\"code\":503,\"message\":\"overloaded\"}\n\n",
			Err: "test: provider unavailable: overloaded"},
		{Name: "an empty error", Body: "data: {\"error\":{},\"modelVersion\":\"m\",\"candidates\":[{\"content\":{\"parts\":[" + hi +
			"]},\"finishReason\":\"STOP\"}]}\n\n", Want: said},
		{Name: "an unknown endpoint", Body: `{"error":"Unexpected endpoint or method. (POST /v1beta)"}`,
			Err: "test: " + llm.ErrNotAModel.Error() + ": Unexpected endpoint or method. (POST /v1beta)"},
	})
}

func TestMutations(t *testing.T) {
	t.Parallel()
	llmtest.RunMutations(t, "gemini", func(baseURL string) llm.Client { return open(t, baseURL) })
}

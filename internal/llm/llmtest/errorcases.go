package llmtest

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/llm"
)

// errorCase is a fault and the client's expected error.
type errorCase struct {
	name       string
	reply      Reply
	kind       error
	retryAfter time.Duration
}

// errorCases returns the cases for all wire formats and those for w.
func errorCases(w Wire) []errorCase {
	cases := slices.Concat(brokenCases(), inStreamCases(), limitCases(), refusedCases())
	switch w {
	case OpenAI:
		return slices.Concat(cases, openAIErrors(), openAIRefusals())
	case Responses:
		return slices.Concat(cases, responsesErrors())
	case Anthropic:
		return slices.Concat(cases, anthropicErrors())
	}
	return slices.Concat(cases, geminiErrors())
}

// brokenCases are streams that break.
func brokenCases() []errorCase {
	story := Text("It is the disk.").Chunked(3, 0)
	return []errorCase{
		{name: "no finish reason", reply: story.NoFinish(), kind: llm.ErrTruncated},
		{name: "nothing in the stream", reply: Raw(), kind: llm.ErrTruncated},
		{name: "cut in the stream", reply: story.Cut(2), kind: llm.ErrTruncated},
		{name: "cut in the midst of a chunk", reply: story.CutWithin(2), kind: llm.ErrTruncated},
		{name: "ended in the midst of a chunk", reply: story.EndWithin(2), kind: llm.ErrTruncated},
		{name: "cut before the first chunk", reply: story.Cut(0), kind: llm.ErrUnavailable},
		{name: "stalled in the stream", reply: story.Stall(2), kind: llm.ErrStalled},
		{name: "stalled before the first chunk", reply: story.Stall(0), kind: llm.ErrStalled},
		{name: "stalled before the first byte", reply: story.Slow(time.Hour), kind: llm.ErrStalled},
		{name: "malformed chunk", reply: story.Malformed(1), kind: llm.ErrMalformed},
		{name: "a web page", reply: Status(http.StatusOK, "<html>\n<body>Welcome"), kind: llm.ErrNotAModel},
		{name: "a web page after a byte order mark", reply: Status(http.StatusOK, "\uFEFF\n<!DOCTYPE html>"), kind: llm.ErrNotAModel},
		{name: "an endpoint that LM Studio does not know", kind: llm.ErrNotAModel,
			reply: Status(http.StatusOK, `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`)},
		{name: "filtered", reply: Text("").Finish("content_filter"), kind: llm.ErrContentFiltered},
	}
}

// inStreamCases are errors with HTTP 200.
func inStreamCases() []errorCase {
	story := Text("It is the disk.").Chunked(3, 0)
	return []errorCase{
		{name: "error in 200", reply: ErrorIn200("rate_limit_exceeded", "slow down"), kind: llm.ErrRateLimited},
		{name: "no credit", reply: story.ErrorAfter(2, "insufficient_quota", "no credit"), kind: llm.ErrQuotaExhausted},
		{name: "bad request", reply: story.ErrorAfter(0, "invalid_request_error", "no"), kind: llm.ErrInvalidRequest},
		{name: "bad key", reply: story.ErrorAfter(0, "authentication_error", "no"), kind: llm.ErrAuth},
		{name: "server error", reply: story.ErrorAfter(1, "server_error", "oops"), kind: llm.ErrUnavailable},
	}
}

// limitCases are refusals that say when to retry.
func limitCases() []errorCase {
	return []errorCase{
		{name: "429", reply: RateLimited(0), kind: llm.ErrRateLimited},
		{name: "429 with Retry-After", reply: RateLimited(7 * time.Second), kind: llm.ErrRateLimited, retryAfter: 7 * time.Second},
		{name: "429 with milliseconds", reply: RateLimited(7*time.Second).Header("Retry-After-Ms", "250"), kind: llm.ErrRateLimited,
			retryAfter: 250 * time.Millisecond},
		{name: "429 until a date", reply: RateLimited(0).Header("Retry-After", "Fri, 01 Jan 2999 00:00:00 GMT"), kind: llm.ErrRateLimited,
			retryAfter: 24 * time.Hour},
		{name: "503 with Retry-After", reply: Status(503, "").Header("Retry-After", "2"), kind: llm.ErrUnavailable, retryAfter: 2 * time.Second},
		{name: "429 without credit", reply: QuotaExhausted(), kind: llm.ErrQuotaExhausted},
	}
}

// refusedCases are refusals by status.
func refusedCases() []errorCase {
	return []errorCase{
		{name: "401 that repeats the key", reply: BadKey(), kind: llm.ErrAuth},
		{name: "402", reply: Status(402, ""), kind: llm.ErrQuotaExhausted},
		{name: "403", reply: Status(403, "no"), kind: llm.ErrAuth},
		{name: "400", reply: Refuse(400, "invalid_request_error", "no such field"), kind: llm.ErrInvalidRequest},
		{name: "context too long", reply: Refuse(400, "context_length_exceeded", "too long"), kind: llm.ErrContextTooLong},
		{name: "404 of nginx", kind: llm.ErrNotAModel,
			reply: Status(404, "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body><center>…</center></body></html>")},
		{name: "404 of Go", reply: Status(404, "404 page not found\n"), kind: llm.ErrNotAModel},
		{name: "404 of FastAPI", reply: Status(404, `{"detail":"Not Found"}`), kind: llm.ErrNotAModel},
		{name: "404 of OpenAI", kind: llm.ErrNotAModel,
			reply: Status(404, `{"error":{"message":"Invalid URL (POST /v1/v1/chat/completions)","type":"invalid_request_error"}}`)},
		{name: "404 of llama.cpp", reply: Status(404, `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`),
			kind: llm.ErrNotAModel},
		{name: "404 without a body", reply: Status(404, ""), kind: llm.ErrNotAModel},
		{name: "405", reply: Status(405, `{"detail":"Method Not Allowed"}`), kind: llm.ErrNotAModel},
		{name: "404 about the model, of OpenAI", kind: llm.ErrInvalidRequest, reply: Status(404, `{"error":{"message":"The model `+"`m`"+
			` does not exist or you do not have access to it.","type":"invalid_request_error","code":"model_not_found"}}`)},
		{name: "404 about the model, of Google", kind: llm.ErrInvalidRequest,
			reply: Status(404, `{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}`)},
		{name: "404 about the model, of Ollama", kind: llm.ErrInvalidRequest,
			reply: Status(404, `{"error":{"message":"model \"m\" not found, try pulling it first","type":"api_error","code":null}}`)},
		{name: "404 about the model, of vLLM", kind: llm.ErrInvalidRequest,
			reply: Status(404, `{"object":"error","message":"The model `+"`m`"+` does not exist.","type":"NotFoundError","code":404}`)},
		{name: "404 about the model, of Anthropic", kind: llm.ErrInvalidRequest,
			reply: Status(404, `{"type":"error","error":{"type":"not_found_error","message":"model: m"}}`)},
		{name: "404 about the model, of Google", kind: llm.ErrInvalidRequest, reply: Status(404, `{"error":{"code":404,"message":`+
			`"models/m is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}`)},
		{name: "404 about the model, of OpenRouter", kind: llm.ErrInvalidRequest,
			reply: Status(404, `{"error":{"message":"No endpoints found for m.","code":404}}`)},
		{name: "408", reply: Status(408, ""), kind: llm.ErrUnavailable},
		{name: "413", reply: Status(413, ""), kind: llm.ErrContextTooLong},
		{name: "500", reply: Status(500, strings.Repeat("<p>\xff oops\r\n", 9000)), kind: llm.ErrUnavailable},
		{name: "529", reply: Refuse(529, "overloaded_error", "overloaded"), kind: llm.ErrUnavailable},
	}
}

// openAIErrors are errors in variants of chat completions.
func openAIErrors() []errorCase {
	story := Text("It is the disk.").Chunked(3, 0)
	return []errorCase{
		{name: "done, but no finish reason", reply: Raw(`{"choices":[{"delta":{"content":"It"}}]}`), kind: llm.ErrTruncated},
		{name: "chunk of another shape", reply: story.Insert(1, `{"choices":"none"}`), kind: llm.ErrMalformed},
		{name: "numeric error in 200", reply: Status(200, `{"error":{"message":"too fast","code":429}}`), kind: llm.ErrRateLimited},
		{name: "textual error in 200", reply: Status(200, `{"error":"model runner crashed"}`), kind: llm.ErrUnavailable},
		{name: "bare error object", reply: story.Insert(2, `{"object":"error","message":"maximum context length is 4096"}`),
			kind: llm.ErrContextTooLong},
		// The message is from https://github.com/continuedev/continue/issues/12739.
		{name: "429 that says when in words", kind: llm.ErrRateLimited, retryAfter: 4656 * time.Millisecond,
			reply: Refuse(429, "rate_limit_exceeded", "Rate limit reached for gpt-5.4 on tokens per min. Please try again in 4.656s. Visit …")},
		{name: "429 in minutes", kind: llm.ErrRateLimited, retryAfter: 7*time.Minute + 12500*time.Millisecond,
			reply: Refuse(429, "rate_limit_exceeded", "Please try again in 7m12.5s.")},
		{name: "429 of Azure", kind: llm.ErrRateLimited, retryAfter: 20 * time.Second,
			reply: Status(429, errorBody("429", "Requests have exceeded call rate limit. Please retry after 20 seconds."))},
		{name: "429 in words and a header", kind: llm.ErrRateLimited, retryAfter: 3 * time.Second,
			reply: Refuse(429, "rate_limit_exceeded", "Please try again in 20s.").Header("Retry-After", "3")},
		{name: "a limit in the stream", kind: llm.ErrRateLimited, retryAfter: 28 * time.Millisecond,
			reply: story.ErrorAfter(2, "rate_limit_exceeded", "Rate limit reached. Please try again in 28ms.")},
		{name: "429 about tokens", reply: Status(429, errorBody("tokens", "your context window for this minute is used up")),
			kind: llm.ErrRateLimited},
	}
}

// openAIRefusals are refusals in the forms of several providers.
func openAIRefusals() []errorCase {
	status := func(code int, word, message string) Reply { return Status(code, errorBody(word, message)) }
	return []errorCase{
		{name: "400 about the key", reply: Status(400, `{"code":"invalid argument","error":"Incorrect API key provided"}`), kind: llm.ErrAuth},
		{name: "404", reply: Status(404, `[{"error":{"code":404,"message":"no such model","status":"NOT_FOUND"}}]`), kind: llm.ErrInvalidRequest},
		{name: "422", reply: Status(422, `{"detail":[{"msg":"field required"}]}`), kind: llm.ErrInvalidRequest},
		{name: "filtered prompt", reply: status(400, "content_filter", "Azure says no"), kind: llm.ErrContentFiltered},
		{name: "context too long, in words", reply: status(400, "BadRequestError", "This model's maximum context length is 8192 tokens"),
			kind: llm.ErrContextTooLong},
		{name: "context too long, in metadata", kind: llm.ErrContextTooLong,
			reply: Status(400, `{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"prompt is too long"}}}`)},
	}
}

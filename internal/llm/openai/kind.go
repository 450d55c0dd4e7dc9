package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/llm"
)

// error returns the failure as an *llm.Error. The status is 0 for a failure inside a successful answer.
func (f failure) error(status int) *llm.Error {
	message := string(f.Message)
	if f.Metadata.V.Raw != "" {
		message += ": " + string(f.Metadata.V.Raw)
	}
	if param := string(f.Param); strings.HasSuffix(message, "not permitted") && !strings.Contains(message, param) {
		message = param + ": " + message // the message does not name the field
	}
	failed := &llm.Error{Kind: f.kind(status, strings.ToLower(message)), Status: status, Message: message,
		Window: int(f.Window), Prompt: int(f.Prompt)}
	if failed.Kind == llm.ErrRateLimited {
		failed.RetryAfter = waitSaid(message)
	}
	return failed
}

// pleaseWait matches the messages in which OpenAI, Groq and Azure say when to retry: "Please try again in 4.656s.", "in
// 7m12s", "Please retry after 20 seconds." A stream has no headers for that.
var pleaseWait = regexp.MustCompile(`(?i)(?:try again in|retry after) ([\dhms.]*\d)( ?(?:seconds?|ms|m|s|h))`)

// waitSaid returns the wait that a message asks for, or zero.
func waitSaid(message string) time.Duration {
	m := pleaseWait.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	unit := strings.TrimSpace(m[2])
	if strings.HasPrefix(unit, "second") {
		unit = "s"
	}
	wait, err := time.ParseDuration(m[1] + unit)
	if err != nil {
		return 0
	}
	return min(wait, 24*time.Hour)
}

// kind checks the error's text first, because the status is often too coarse: 429 is also used for an empty account,
// and 400 for a text that is too long.
func (f failure) kind(status int, message string) error {
	switch {
	case f.is("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"):
		return llm.ErrQuotaExhausted
	case f.is("context_length_exceeded", "exceed_context_size_error"):
		return llm.ErrContextTooLong
	case f.is("content_filter", "content_policy_violation", "invalid_prompt", "bio_policy", "cyber_policy", "misalignment_policy_violation",
		"image_content_policy_violation"): // invalid_prompt: "was flagged as potentially violating our usage policy"
		return llm.ErrContentFiltered
	case f.is("tool_use_failed", "json_validate_failed"): // Groq: the model's mistake
		return llm.ErrMalformed
	case f.is("invalid_api_key"):
		return llm.ErrAuth
	}
	if status == 0 {
		status = f.statusInCode()
	}
	switch kind := llm.StatusKind(status); {
	case kind == llm.ErrRateLimited, kind == llm.ErrAuth:
		return kind
	case saysTooLong(message):
		return llm.ErrContextTooLong
	case kind == llm.ErrInvalidRequest && saysBadKey(message):
		return llm.ErrAuth
	case saysTemplate(message):
		return llm.ErrInvalidRequest
	case kind != nil:
		return kind
	}
	return f.kindByType()
}

// kindByType is for errors without a status. An unknown error may be temporary.
func (f failure) kindByType() error {
	switch {
	case f.is("rate_limit_exceeded", "rate_limit_error", "too_many_requests", "resource_exhausted"):
		return llm.ErrRateLimited
	case f.is("authentication_error", "permission_error", "permission_denied", "unauthenticated"):
		return llm.ErrAuth
	case f.is("invalid_request_error", "invalid_argument", "model_not_found", "not_found_error", "badrequesterror",
		"data_residency_mismatch"), f.isImage():
		return llm.ErrInvalidRequest
	}
	return llm.ErrUnavailable
}

// isImage matches the codes for images that the Responses API refuses: invalid_image, image_too_large, …
func (f failure) isImage() bool {
	code := strings.ToLower(string(f.Code))
	return strings.Contains(code, "image") && code != "failed_to_download_image"
}

func (f failure) is(names ...string) bool {
	return slices.ContainsFunc([]text{f.Code, f.Type, f.Status}, func(t text) bool {
		return slices.Contains(names, strings.ToLower(string(t)))
	})
}

// statusInCode returns the HTTP status in the code, or 0.
func (f failure) statusInCode() int {
	status, err := strconv.Atoi(string(f.Code))
	if err != nil || status < http.StatusBadRequest || status > 599 {
		return 0
	}
	return status
}

// saysTooLong matches the messages of OpenAI, vLLM, DeepSeek; Anthropic; Google; xAI; and llama.cpp, which have no code
// for it.
func saysTooLong(message string) bool {
	return containsAny(message, "maximum context length", "context window", "prompt is too long",
		"input token count", "maximum prompt length", "available context size")
}

// saysTemplate matches the errors of llama.cpp, which answers 500, and LM Studio about a conversation that the model's template
// refuses. It would refuse the conversation again.
func saysTemplate(message string) bool {
	return containsAny(message, "jinja exception", "jinja template")
}

// saysBadKey matches the messages of Google and xAI, which answer 400.
func saysBadKey(message string) bool {
	return containsAny(message, "api key not valid", "incorrect api key", "invalid api key")
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// failure is an error object of the wire format, in any provider's form.
type failure struct {
	Message text `json:"message"`
	Type    text `json:"type"`
	Code    text `json:"code"`
	Param   text `json:"param"`
	Status  text `json:"status"` // Google's
	// Window and Prompt are llama.cpp's: the tokens of the context window and of the request.
	Window   llm.Count `json:"n_ctx"`
	Prompt   llm.Count `json:"n_prompt_tokens"`
	Metadata llm.Loose[struct {
		Raw text `json:"raw"` // OpenRouter's: the error of the provider behind it
	}] `json:"metadata"`
}

// UnmarshalJSON also decodes an error that is only a string.
func (f *failure) UnmarshalJSON(data []byte) error {
	type plain failure
	if json.Unmarshal(data, (*plain)(f)) == nil {
		return nil
	}
	*f = failure{}
	return f.Message.UnmarshalJSON(data)
}

// text decodes a JSON string, or any other value as written: codes are numbers as often as words.
type text string

// UnmarshalJSON never fails.
func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = string(data)
	}
	*t = text(s)
	return nil
}

// parseFailure parses the body of a refusal: {"error": …}, a list of one such object (Google), {"errors": […]}
// (Cloudflare), the bare object (vLLM), {"detail": …} (FastAPI), or any text.
func parseFailure(body []byte) failure {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error  json.RawMessage      `json:"error"`
		Errors llm.Loose[[]failure] `json:"errors"`
	}
	_ = json.Unmarshal(body, &outer) // text that is not JSON is handled below
	var failed failure
	switch {
	case !llm.EmptyJSON(outer.Error):
		_ = json.Unmarshal(outer.Error, &failed)
	case len(outer.Errors.V) > 0:
		failed = outer.Errors.V[0]
		failed.Message = ""
	case bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")):
		_ = json.Unmarshal(body, &failed)
	}
	if message := []byte(failed.Message); json.Valid(message) { // Mistral's is a list of errors, and gateways pass on whole answers
		failed.Message = text(cmp.Or(llm.ErrorWords(message), string(message)))
	}
	if failed.Message == "" {
		failed.Message = text(cmp.Or(llm.ErrorWords(body), string(body)))
	}
	return failed
}

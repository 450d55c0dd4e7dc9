package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/llm"
)

// failure is an error object, in a refusal or in the middle of a stream.
// https://platform.claude.com/docs/en/api/errors
type failure struct {
	Error     llm.Loose[failureObject] `json:"error"`
	RequestID llm.Word                 `json:"request_id"`
}

type failureObject struct {
	Type    llm.Word `json:"type"`
	Message llm.Word `json:"message"`
	Details llm.Loose[struct {
		Code llm.Word `json:"error_code"`
	}] `json:"details"`
}

// parseFailure parses the body of a refusal. Gateways, such as Amazon's, have other error objects, of which only the
// message is used.
func parseFailure(body []byte) failure {
	var f failure
	_ = json.Unmarshal(body, &f)
	if f.Error.V.Message == "" {
		f.Error.V.Message = llm.Word(cmp.Or(llm.ErrorWords(body), string(bytes.TrimSpace(body))))
	}
	return f
}

func (f failure) error(status int) *llm.Error {
	return &llm.Error{Kind: f.kind(status), Status: status, Message: string(f.Error.V.Message), RequestID: string(f.RequestID)}
}

// kind returns the kind of error. The message takes precedence if it is more specific than the type: an account without
// credit and a text that is too long are also invalid requests.
func (f failure) kind(status int) error {
	message := strings.ToLower(string(f.Error.V.Message))
	says := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(message, part) })
	}
	kind := kinds[string(f.Error.V.Type)]
	if kind == nil {
		kind = cmp.Or(llm.StatusKind(status), llm.ErrUnavailable)
	}
	if status == http.StatusNotFound { // Ollama uses api_error for it
		kind = llm.ErrInvalidRequest
	}
	switch {
	case f.Error.V.Details.V.Code == "enforced_spend_limit_reached":
		return llm.ErrQuotaExhausted
	case kind == llm.ErrInvalidRequest && says("credit balance is too low", "specified api usage limits", "spend limit"):
		return llm.ErrQuotaExhausted
	case kind == llm.ErrInvalidRequest && says("prompt is too long", "input is too long", "exceed context limit", "maximum context length"):
		return llm.ErrContextTooLong
	}
	return kind
}

var kinds = map[string]error{
	"invalid_request_error": llm.ErrInvalidRequest,
	"not_found_error":       llm.ErrInvalidRequest,
	"authentication_error":  llm.ErrAuth,
	"permission_error":      llm.ErrAuth,
	"billing_error":         llm.ErrQuotaExhausted,
	"request_too_large":     llm.ErrContextTooLong,
	"rate_limit_error":      llm.ErrRateLimited,
	"conflict_error":        llm.ErrUnavailable,
	"timeout_error":         llm.ErrUnavailable,
	"api_error":             llm.ErrUnavailable,
	"overloaded_error":      llm.ErrUnavailable,
}

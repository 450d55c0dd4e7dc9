package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/llm"
)

// failure is an error object, of a refusal or in the midst of a stream.
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

// parseFailure reads the body of a refusal. What is in front of Claude in Amazon's cloud, and gateways, have
// error objects of their own, of which the words count.
func parseFailure(body []byte) failure {
	var f failure
	_ = json.Unmarshal(body, &f)
	if f.Error.V.Message == "" {
		f.Error.V.Message = llm.Word(cmp.Or(llm.ErrorWords(body), string(bytes.TrimSpace(body))))
	}
	return f
}

// messageRoom leaves room in an error's text for the request's id, by which Anthropic finds it.
const messageRoom = 420 // characters

func (f failure) error(status int) *llm.Error {
	message := string(f.Error.V.Message)
	if f.RequestID != "" {
		message = clip.Fit(message, messageRoom) + " (request " + string(f.RequestID) + ")"
	}
	return &llm.Error{Kind: f.kind(status), Status: status, Message: message}
}

// kind goes by the words first where they say more than the type: an account without credit and
// a text that is too long are invalid requests, too.
func (f failure) kind(status int) error {
	message := strings.ToLower(string(f.Error.V.Message))
	says := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(message, part) })
	}
	kind := kinds[string(f.Error.V.Type)]
	if kind == nil {
		kind = cmp.Or(llm.StatusKind(status), llm.ErrUnavailable)
	}
	if status == http.StatusNotFound { // Ollama's type for it is api_error
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

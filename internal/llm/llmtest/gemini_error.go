package llmtest

import (
	"encoding/json"
	"net/http"
	"strconv"
)

type geminiError struct {
	Code    int              `json:"code"`
	Message string           `json:"message"`
	Status  string           `json:"status"`
	Details []map[string]any `json:"details,omitempty"`
}

// refusal returns an error in Gemini's form, which has fewer statuses than OpenAI and uses details and messages
// instead.
func (f geminiFormat) refusal(broken fault) (int, string) {
	e := geminiError{Message: broken.message}
	switch broken.code {
	case "rate_limit_exceeded":
		e.Code, e.Status = http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"
	case "insufficient_quota":
		e.Code, e.Status = http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"
		e.detail("QuotaFailure", "violations", []map[string]string{{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}})
	case "invalid_api_key":
		e.Code, e.Status = http.StatusBadRequest, "INVALID_ARGUMENT"
		e.detail("ErrorInfo", "reason", "API_KEY_INVALID")
	case "authentication_error":
		e.Code, e.Status = http.StatusUnauthorized, "UNAUTHENTICATED"
	case "context_length_exceeded":
		e.Code, e.Status = http.StatusBadRequest, "INVALID_ARGUMENT"
		e.Message = "The input token count (9000) exceeds the maximum number of tokens allowed (8192)."
	case "overloaded_error":
		e.Code, e.Status = http.StatusServiceUnavailable, "UNAVAILABLE"
	case "server_error":
		e.Code, e.Status = http.StatusInternalServerError, "INTERNAL"
	default:
		e.Code, e.Status = http.StatusBadRequest, "INVALID_ARGUMENT"
	}
	if broken.wait > 0 {
		e.detail("RetryInfo", "retryDelay", strconv.FormatFloat(broken.wait.Seconds(), 'f', -1, 64)+"s")
	}
	body, _ := json.Marshal(map[string]geminiError{"error": e}) // cannot fail: strings and maps
	if broken.status == http.StatusOK {
		return http.StatusOK, string(body)
	}
	if f.array && broken.status != 0 { // Google answers a request for an array with an array
		return e.Code, "[" + string(body) + "]"
	}
	return e.Code, string(body)
}

func (e *geminiError) detail(kind, name string, value any) {
	e.Details = append(e.Details, map[string]any{"@type": "type.googleapis.com/google.rpc." + kind, name: value})
}

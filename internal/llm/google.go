package llm

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// GoogleFailure is an error object of Google's APIs (google.rpc.Status), which
// all clients of them share.
type GoogleFailure struct {
	Code    int            `json:"code"` // an HTTP status
	Message string         `json:"message"`
	Details []googleDetail `json:"details"`
}

// googleDetail is any of google.rpc's error details that we look at.
type googleDetail struct {
	Type       string `json:"@type"`
	RetryDelay string `json:"retryDelay"` // RetryInfo: "7s"
	Reason     string `json:"reason"`     // ErrorInfo: API_KEY_INVALID
	Violations []struct {
		QuotaID string `json:"quotaId"` // QuotaFailure: …PerDay…, …PerMinute…
	} `json:"violations"`
}

// maxGoogleRefusal bounds what is read of an answer that is no success, in bytes.
const maxGoogleRefusal = 64 << 10

// GoogleRefusal reads and closes an answer that is no success.
func GoogleRefusal(resp *http.Response) *Error {
	defer resp.Body.Close()
	// What did arrive says enough, and the status says most.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxGoogleRefusal))
	failure, ok := ParseGoogleFailure(body)
	if !ok {
		failure.Message = string(body)
	}
	failed := failure.Error(resp.StatusCode)
	if wait := RetryAfter(resp.Header, time.Now()); wait > 0 {
		failed.RetryAfter = wait
	}
	return failed
}

// ParseGoogleFailure reads {"error": …}, or a list that begins with one; ok is
// false for all else.
func ParseGoogleFailure(body []byte) (failure GoogleFailure, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error *GoogleFailure `json:"error"`
	}
	if err := json.Unmarshal(body, &outer); err != nil || outer.Error == nil {
		return GoogleFailure{}, false
	}
	return *outer.Error, true
}

// Error returns the failure as an *Error without a provider. The status is 0 for
// one that came inside of a successful answer.
func (f GoogleFailure) Error(status int) *Error {
	failed := &Error{Kind: f.kind(status), Status: status, Message: f.Message}
	for _, d := range f.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			failed.RetryAfter = min(wait, maxRetryAfter)
		}
	}
	return failed
}

func (f GoogleFailure) kind(status int) error {
	if status == 0 {
		status = f.Code
	}
	message := strings.ToLower(f.Message)
	switch {
	case f.has(func(d googleDetail) bool { return strings.HasPrefix(d.Reason, "API_KEY_") }),
		strings.Contains(message, "api key not valid"):
		return ErrAuth
	case status == http.StatusTooManyRequests && f.has(googleDetail.perDay):
		return ErrQuotaExhausted // it is back tomorrow; another provider is back now
	case status == http.StatusTooManyRequests:
		return ErrRateLimited
	case strings.Contains(message, "input token count") && strings.Contains(message, "exceeds"):
		return ErrContextTooLong
	}
	if kind := StatusKind(status); status != 0 && kind != nil {
		return kind
	}
	return ErrUnavailable
}

func (f GoogleFailure) has(is func(googleDetail) bool) bool {
	return slices.ContainsFunc(f.Details, is)
}

func (d googleDetail) perDay() bool {
	for _, v := range d.Violations {
		if strings.Contains(v.QuotaID, "PerDay") {
			return true
		}
	}
	return false
}

// GoogleFinish reads a finish reason of Gemini: what it means, and what kind of
// error a reply is that has nothing else, or nil. "" and the unspecified reason
// are none at all: finish is "".
func GoogleFinish(reason string) (finish Finish, failed error) {
	switch reason {
	case "", "FINISH_REASON_UNSPECIFIED":
		return "", nil
	case "STOP":
		return FinishStop, nil
	case "MAX_TOKENS":
		return FinishLength, nil
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return FinishFiltered, ErrContentFiltered
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS":
		return Finish(reason), ErrMalformed
	}
	return Finish(reason), nil
}

package llm

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// GoogleFailure is an error object of Google's APIs (google.rpc.Status).
type GoogleFailure struct {
	Code    Count                 `json:"code"` // an HTTP status
	Message Word                  `json:"message"`
	Details []Loose[googleDetail] `json:"details"`
}

// googleDetail holds the fields of google.rpc's error details that are used here.
type googleDetail struct {
	RetryDelay Word `json:"retryDelay"` // RetryInfo: "7s"
	Reason     Word `json:"reason"`     // ErrorInfo: API_KEY_INVALID
	Violations []struct {
		QuotaID Word `json:"quotaId"` // QuotaFailure: …PerDay…, …PerMinute…
	} `json:"violations"`
}

// GoogleAnswer returns a successful answer or an *Error. A redirect is an error, because net/http would send the key's
// header to any host.
func GoogleAnswer(resp *http.Response, err error) (*http.Response, error) {
	switch {
	case err != nil:
		return nil, &Error{Kind: ErrUnavailable, Message: err.Error()}
	case resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices:
		return resp, nil
	}
	body := ReadRefusal(resp)
	if failed := NotAModel(resp.StatusCode, body); failed != nil {
		return nil, failed
	}
	failure, ok := ParseGoogleFailure(body)
	if !ok {
		failure.Message = Word(ErrorWords(body))
	}
	failed := failure.Error(resp.StatusCode)
	if wait := RetryAfter(resp.Header, time.Now()); wait > 0 {
		failed.RetryAfter = wait
	}
	return nil, failed
}

// ParseGoogleFailure parses {"error": …}, or a list that begins with one. ok is false for anything else.
func ParseGoogleFailure(body []byte) (failure GoogleFailure, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &outer); err != nil || EmptyJSON(outer.Error) {
		return GoogleFailure{}, false
	}
	_ = json.Unmarshal(outer.Error, &failure) // as far as it has Google's form
	if failure.Message == "" {
		failure.Message = Word(ErrorWords(body))
	}
	return failure, true
}

// EmptyJSON reports whether a value is empty: absent, null, false, zero, "", {} or [].
func EmptyJSON(value json.RawMessage) bool {
	switch strings.Join(strings.Fields(string(value)), "") {
	case "", "null", "false", "0", `""`, "{}", "[]":
		return true
	}
	return false
}

// Error returns the failure as an *Error without a provider. The status is 0 for a failure inside a successful answer.
func (f GoogleFailure) Error(status int) *Error {
	failed := &Error{Kind: f.kind(status), Status: status, Message: string(f.Message)}
	for _, d := range f.Details {
		if wait, err := time.ParseDuration(string(d.V.RetryDelay)); err == nil && wait > 0 {
			failed.RetryAfter = min(wait, maxRetryAfter)
		}
	}
	return failed
}

func (f GoogleFailure) kind(status int) error {
	if status == 0 {
		status = int(f.Code)
	}
	message := strings.ToLower(string(f.Message))
	switch {
	case f.has(func(d googleDetail) bool { return strings.HasPrefix(string(d.Reason), "API_KEY_") }),
		strings.Contains(message, "api key not valid"):
		return ErrAuth
	case status == http.StatusTooManyRequests && f.has(googleDetail.perDay):
		return ErrQuotaExhausted // it resets tomorrow, and another provider is available now
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
	return slices.ContainsFunc(f.Details, func(d Loose[googleDetail]) bool { return is(d.V) })
}

func (d googleDetail) perDay() bool {
	for _, v := range d.Violations {
		if strings.Contains(string(v.QuotaID), "PerDay") {
			return true
		}
	}
	return false
}

// GoogleReply judges a reply by Gemini's finish reason and message.
func GoogleReply(resp Response, repeating bool, reason, message string) (Response, error) {
	finish, kind := GoogleFinish(reason)
	resp.Finish = finish
	switch {
	case repeating: // no calls: the last one may be cut
		resp.Finish, resp.ToolCalls = FinishRepeating, nil
	case kind == ErrMalformed, kind != nil && strings.TrimSpace(resp.Content) == "" && len(resp.ToolCalls) == 0:
		return resp, &Error{Kind: kind, Message: strings.TrimSuffix(reason+": "+message, ": ")}
	case kind == nil && !googleEnds[finish] && strings.TrimSpace(resp.Content) == "" && len(resp.ToolCalls) == 0:
		return resp, &Error{Kind: ErrMalformed, Message: strings.TrimSuffix(reason+": "+message, ": ")}
	case finish == FinishStop && len(resp.ToolCalls) > 0:
		resp.Finish = FinishToolCalls // Gemini uses STOP for both
	}
	return resp, nil
}

// googleEnds are the finishes that an empty reply may have.
var googleEnds = map[Finish]bool{FinishStop: true, FinishLength: true, FinishPaused: true}

// GoogleFinish returns the meaning of Gemini's finish reason, and the kind of error if the reply has nothing else, or
// nil. For an empty or unspecified reason, finish is empty.
func GoogleFinish(reason string) (finish Finish, failed error) {
	switch strings.ToUpper(reason) {
	case "", "FINISH_REASON_UNSPECIFIED":
		return "", nil
	case "CONTINUATION": // the reply needs several requests: AutomaticContinuation of genai
		return FinishPaused, nil
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return FinishFiltered, ErrContentFiltered
	case "MISSING_THOUGHT_SIGNATURE": // a retry would lack the signature again
		return Finish(reason), ErrInvalidRequest
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS":
		return Finish(reason), ErrMalformed
	}
	if finish = ReadFinish(reason); finish == FinishFiltered {
		failed = ErrContentFiltered
	}
	return finish, failed
}

// googleSigners matches the models that require the signatures of their thinking with their calls.
var googleSigners = regexp.MustCompile(`^(?:models/)?gemini-(?:[3-9]|\d\d|.*latest)`)

// GoogleSigns reports whether a model signs its calls, and refuses calls without a signature.
func GoogleSigns(model string) bool { return googleSigners.MatchString(model) }

// GoogleArguments returns the arguments of a call as text.
func GoogleArguments(args map[string]any) string {
	if len(args) == 0 {
		return "{}"
	}
	return string(compact(args))
}

package llm

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// GoogleFailure is an error object of Google's APIs (google.rpc.Status), which
// all clients of them share.
type GoogleFailure struct {
	Code    Count                 `json:"code"` // an HTTP status
	Message Word                  `json:"message"`
	Details []Loose[googleDetail] `json:"details"`
}

// googleDetail is any of google.rpc's error details that we look at.
type googleDetail struct {
	RetryDelay Word `json:"retryDelay"` // RetryInfo: "7s"
	Reason     Word `json:"reason"`     // ErrorInfo: API_KEY_INVALID
	Violations []struct {
		QuotaID Word `json:"quotaId"` // QuotaFailure: …PerDay…, …PerMinute…
	} `json:"violations"`
}

// GoogleAnswer is an answer, or else an *Error. Redirects are none: net/http would take
// the key's header along to any host.
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

// ParseGoogleFailure reads {"error": …}, or a list that begins with one; ok is
// false for all else.
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
	_ = json.Unmarshal(outer.Error, &failure) // as far as it is Google's
	if failure.Message == "" {
		failure.Message = Word(ErrorWords(body))
	}
	return failure, true
}

// EmptyJSON reports whether a value says nothing: absent, null, false, zero, "", {} or [].
func EmptyJSON(value json.RawMessage) bool {
	switch strings.Join(strings.Fields(string(value)), "") {
	case "", "null", "false", "0", `""`, "{}", "[]":
		return true
	}
	return false
}

// Error returns the failure as an *Error without a provider. The status is 0 for
// one that came inside of a successful answer.
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

// GoogleReply judges a reply by what Gemini says of its end: the reason, and words about it.
func GoogleReply(resp Response, repeating bool, reason, message string) (Response, error) {
	finish, kind := GoogleFinish(reason)
	resp.Finish = finish
	switch {
	case repeating: // it asks for nothing: its last call may be cut, too
		resp.Finish, resp.ToolCalls = FinishRepeating, nil
	case kind == ErrMalformed, kind != nil && strings.TrimSpace(resp.Content) == "" && len(resp.ToolCalls) == 0:
		return resp, &Error{Kind: kind, Message: strings.TrimSuffix(reason+": "+message, ": ")}
	case kind == nil && !googleEnds[finish] && strings.TrimSpace(resp.Content) == "" && len(resp.ToolCalls) == 0:
		return resp, &Error{Kind: ErrMalformed, Message: strings.TrimSuffix(reason+": "+message, ": ")}
	case finish == FinishStop && len(resp.ToolCalls) > 0:
		resp.Finish = FinishToolCalls // Gemini says STOP for both
	}
	return resp, nil
}

// googleEnds are the ends that an empty reply may have.
var googleEnds = map[Finish]bool{FinishStop: true, FinishLength: true, FinishPaused: true}

// GoogleFinish reads a finish reason of Gemini: what it means, and what kind of
// error a reply is that has nothing else, or nil. "" and the unspecified reason
// are none at all: finish is "".
func GoogleFinish(reason string) (finish Finish, failed error) {
	switch strings.ToUpper(reason) {
	case "", "FINISH_REASON_UNSPECIFIED":
		return "", nil
	case "CONTINUATION": // of a reply that wants more than one request: AutomaticContinuation of genai's
		return FinishPaused, nil
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return FinishFiltered, ErrContentFiltered
	case "MISSING_THOUGHT_SIGNATURE": // the request lacks one, and would lack it again
		return Finish(reason), ErrInvalidRequest
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS":
		return Finish(reason), ErrMalformed
	}
	if finish = ReadFinish(reason); finish == FinishFiltered {
		failed = ErrContentFiltered
	}
	return finish, failed
}

// googleSigners matches the models that want the signatures of their thoughts back with their calls.
var googleSigners = regexp.MustCompile(`^(?:models/)?gemini-(?:[3-9]|\d\d|.*latest)`)

// GoogleSigns reports whether a model signs its calls, and refuses them without.
func GoogleSigns(model string) bool { return googleSigners.MatchString(model) }

// GoogleArguments are the arguments of a call as a text.
func GoogleArguments(args map[string]any) string {
	if len(args) == 0 {
		return "{}"
	}
	return string(compact(args))
}

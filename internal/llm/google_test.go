package llm_test

import (
	"errors"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/llm"
)

func TestGoogleFailure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		status     int
		kind       error
		wait       time.Duration
	}{
		{"wait", `{"error":{"code":429,"details":[{"@type":"x"},{"retryDelay":"3.5s"}]}}`, 429, llm.ErrRateLimited, 3500 * time.Millisecond},
		{"a wait of years", `{"error":{"code":429,"details":[{"retryDelay":"99999h"}]}}`, 429, llm.ErrRateLimited, 24 * time.Hour},
		{"no time", `{"error":{"code":429,"details":[{"retryDelay":"soon"}]}}`, 429, llm.ErrRateLimited, 0},
		{"a minute's quota", `{"error":{"details":[{"violations":[{"quotaId":"GenerateRequestsPerMinute"}]}]}}`, 429, llm.ErrRateLimited, 0},
		{"a day's quota", `{"error":{"details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}`, 429,
			llm.ErrQuotaExhausted, 0},
		{"in a stream", `{"error":{"code":503,"status":"UNAVAILABLE"}}`, 0, llm.ErrUnavailable, 0},
		{"in a stream, without a code", `{"error":{"message":"?"}}`, 0, llm.ErrUnavailable, 0},
		{"in a list", `[{"error":{"code":404}}]`, 404, llm.ErrInvalidRequest, 0},
		{"bad key in words", `{"error":{"message":"API key not valid. Please pass a valid API key."}}`, 400, llm.ErrAuth, 0},
		{"a text", `{"error":"the API key is not valid: API key not valid"}`, 400, llm.ErrAuth, 0},
		{"a number as text", `{"error":{"code":"429","message":"x","details":"none"}}`, 0, llm.ErrRateLimited, 0},
		{"expired key", `{"error":{"details":[{"reason":"API_KEY_EXPIRED"}]}}`, 400, llm.ErrAuth, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			failure, ok := llm.ParseGoogleFailure([]byte(tt.body))
			if !ok {
				t.Fatal("not understood")
			}
			got := failure.Error(tt.status)
			if !errors.Is(got, tt.kind) || got.RetryAfter != tt.wait {
				t.Errorf("error = %v after %v, want %v after %v", got, got.RetryAfter, tt.kind, tt.wait)
			}
		})
	}
	for _, body := range []string{``, `null`, `[]`, `[1]`, `{}`, `{"error":null}`, `{"error":""}`, `{"error":{}}`, `{"error": [ ]}`} {
		if failure, ok := llm.ParseGoogleFailure([]byte(body)); ok {
			t.Errorf("%s is understood as %v", body, failure)
		}
	}
}

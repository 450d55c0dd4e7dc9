package llm_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/llm"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name, seconds, millis string
		want                  time.Duration
	}{
		{name: "none"},
		{name: "seconds", seconds: "7", want: 7 * time.Second},
		{name: "a fraction", seconds: "0.25", want: 250 * time.Millisecond},
		{name: "milliseconds go first", seconds: "7", millis: "1500", want: 1500 * time.Millisecond},
		{name: "date", seconds: "Sun, 01 Mar 2026 12:01:30 GMT", want: 90 * time.Second},
		{name: "date in the past", seconds: "Sun, 01 Mar 2026 11:00:00 GMT"},
		{name: "date far away", seconds: "Sun, 01 Mar 2099 11:00:00 GMT", want: 24 * time.Hour},
		{name: "negative", seconds: "-5"},
		{name: "huge", seconds: "1e300", want: 24 * time.Hour},
		{name: "infinite", seconds: "Inf", want: 24 * time.Hour},
		{name: "not a number", seconds: "NaN"},
		{name: "words", seconds: "soon"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			header.Set("Retry-After", tt.seconds)
			header.Set("Retry-After-Ms", tt.millis)
			if got := llm.RetryAfter(header, now); got != tt.want {
				t.Errorf("RetryAfter = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"plain", "The model `x` does not exist", "The model `x` does not exist"},
		{"one line", " a\r\n\tb\x00c ", "a b c"},
		{"the key", "no my-own-key here", "no [redacted] here"},
		{"a key like ours", "Incorrect API key provided: sk-proj-1234567890.", "Incorrect API key provided: [redacted]"},
		{"a masked key", "Incorrect API key provided: ab***yz.", "Incorrect API key provided: [redacted]"},
		{"a header", `{"Authorization": "Bearer abc.def"}`, `{"Authorization": "[redacted]"}`},
		{"a Google key", "key AIzaSyA1234567890 refused", "key [redacted] refused"},
		{"no key at all", "ask-me-anything, risk-averse", "ask-me-anything, risk-averse"},
		{"bytes", "a\xffb", "a�b"},
		{"long", strings.Repeat("é", 501), strings.Repeat("é", 499) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, llm.Clean(tt.text, "my-own-key", "", "a")); diff != "" {
				t.Errorf("Clean (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCleanHoldsWhatItPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "before")) + "s3cret" + rapid.String().Draw(t, "after")
		got := llm.Clean(text, "s3cret")
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > 500 || strings.ContainsAny(got, "\n\r\t\x00") ||
			strings.Contains(got, "s3cret") {
			t.Fatalf("Clean(%q) = %q", text, got)
		}
	})
}

func TestWatchIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, idle := llm.WatchIdle(t.Context(), time.Minute)
		defer idle.Stop()
		for range 3 {
			time.Sleep(59 * time.Second)
			idle.Arrived()
			time.Sleep(time.Hour) // our own time does not count
			idle.Wait()
		}
		if err := ctx.Err(); err != nil {
			t.Fatalf("ended early: %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if cause := context.Cause(ctx); !errors.Is(cause, llm.ErrStalled) {
			t.Errorf("cause = %v, want %v", cause, llm.ErrStalled)
		}
	})
}

// TestNotJSON checks that a truncated JSON answer is malformed, whatever white space it begins with, and that any other text
// is not from a model.
func TestNotJSON(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]error{
		`{"id":`: llm.ErrMalformed, "\n {\"id\":": llm.ErrMalformed, " [1,": llm.ErrMalformed, "hello": llm.ErrNotAModel, " ": llm.ErrNotAModel,
	} {
		if err := llm.NotJSON([]byte(body)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", body, err, want)
		}
	}
}

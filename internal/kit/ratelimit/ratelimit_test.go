package ratelimit_test

import (
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/kit/ratelimit"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	good := ratelimit.Reservation{Agent: "sre", Tool: "loki.query", Key: "inv/triage/1/0", Limit: 1, Window: time.Microsecond}
	tests := map[string]struct {
		change func(*ratelimit.Reservation)
		want   string
	}{
		"good":      {func(*ratelimit.Reservation) {}, ""},
		"no agent":  {func(r *ratelimit.Reservation) { r.Agent = "" }, "agent, tool and key must be given"},
		"no tool":   {func(r *ratelimit.Reservation) { r.Tool = "" }, "agent, tool and key must be given"},
		"no key":    {func(r *ratelimit.Reservation) { r.Key = "" }, "agent, tool and key must be given"},
		"no places": {func(r *ratelimit.Reservation) { r.Limit = 0 }, "limit is 0, and must be at least 1"},
		"too short": {func(r *ratelimit.Reservation) { r.Window = 999 }, "window is 999ns, and must be at least 1µs"},
		"all that's wrong": {func(r *ratelimit.Reservation) { *r = ratelimit.Reservation{} },
			"agent, tool and key must be given\nlimit is 0, and must be at least 1\nwindow is 0s, and must be at least 1µs"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, got := good, ""
			test.change(&r)
			if err := r.Validate(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

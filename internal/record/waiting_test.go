package record

import (
	"testing"
	"time"
)

// TestDeadline: people see what happens to a call at its deadline, and how much time is left.
func TestDeadline(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for want, a := range map[string]Approval{
		"auto-denied in 59 min unless approved":      {Expires: now.Add(59*time.Minute + 44*time.Second)},
		"auto-denied in 44 s unless approved":        {Expires: now.Add(44 * time.Second)},
		"auto-denied in 1 h unless approved":         {Expires: now.Add(time.Hour)},
		"auto-denied in 23 h 59 min unless approved": {Expires: now.Add(24*time.Hour - time.Second)},
		"auto-denied in 3 d unless approved":         {Expires: now.Add(80 * time.Hour)},
		"auto-denied in 0 s unless approved":         {Expires: now.Add(-time.Hour)},
		"no deadline while paused":                   {},
		"escalates to lead in 59 min unless decided": {Expires: now.Add(59 * time.Minute), EscalatesTo: "lead"},
	} {
		if got := a.Deadline(a.Left(now)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (Approval{Expires: now.Add(time.Hour)}).LeftAt(now); got != "in 1 h (13:00:00 UTC)" {
		t.Errorf("%q", got)
	}
}

// TestOutage: an outage names its provider once, and says what the agent does next.
func TestOutage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	o := Outage{Provider: "gpt", Error: "gpt: rate limited", Since: at, Tries: 1, Next: at.Add(time.Minute), Until: at.Add(time.Hour)}
	const one = "gpt: rate limited, since 12:00:00 UTC, 1 failed attempt, next at 12:01:00 UTC, gives up at 13:00:00 UTC, no fallback"
	if got := o.String(); got != one {
		t.Errorf("%q, want %q", got, one)
	}
	o.Error, o.Tries, o.Fallback, o.Others = "rate limited", 2, "gemini", []string{"dig/B"}
	const two = "gpt: rate limited, since 12:00:00 UTC, 2 failed attempts, next at 12:01:00 UTC, gives up at 13:00:00 UTC, " +
		"then falls back to gemini; 1 more agent waiting"
	if got := o.String(); got != two {
		t.Errorf("%q, want %q", got, two)
	}
	o = Outage{
		Provider: "server k8s", Server: "k8s", ErrorType: ServerStarting, Error: "it is starting: npm fetch",
		Since: at, Tries: 2, Until: at.Add(time.Minute),
	}
	const three = "server k8s: it is starting: npm fetch, since 12:00:00 UTC, gives up at 12:01:00 UTC"
	if got := o.String(); got != three {
		t.Errorf("%q, want %q", got, three)
	}
}

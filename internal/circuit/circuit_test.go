package circuit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A model's life, step by step: what is done so many seconds after the beginning, and what comes of it.
func TestState(t *testing.T) {
	t.Parallel()
	type step struct {
		at   float64
		do   string // ask, or: heard, answers, fails, limited, busy (with Retry-After 25), late (began before all), dead (renews nothing)
		want string // of an ask: goes, trial, probe, or how long it waits
		open bool   // afterwards
	}
	for name, steps := range map[string][]step{
		"warm": {{0, "ask", "trial", false}, {1, "heard", "", false}, {2, "ask", "goes", false}, {500, "ask", "goes", false},
			{700, "ask", "trial", false}},
		"cold": {{0, "ask", "trial", false}, {1, "ask", "trial", false}, {2, "ask", "trial", false}, {3, "ask", "17s", false},
			{20, "ask", "trial", false}, {20.5, "ask", "500ms", false}, {20.6, "answers", "", false}, {20.7, "ask", "goes", false}},
		"one failure of many": {{0, "answers", "", false}, {1, "fails", "", false}, {2, "fails", "", false}, {3, "answers", "", false},
			{4, "fails", "", false}, {5, "ask", "goes", false}, {6, "ask", "goes", false}, {7, "ask", "goes", false}, {8, "ask", "17s", false}},
		"a partial stream": {{0, "heard", "", false}, {1, "fails", "", false}, {2, "heard", "", false}, {3, "fails", "", false},
			{4, "heard", "", false},
			{5, "fails", "", true}, {6, "heard", "", true}, {7, "ask", "8s", true}},
		"opens, and one probe at a time": {{0, "fails", "", false}, {0, "fails", "", false}, {0, "fails", "", true}, {1, "ask", "9s", true},
			{10, "ask", "probe", true}, {11, "ask", "29s", true}, {12, "late", "", true}, {13, "fails", "", true}, {14, "ask", "19s", true},
			{33, "ask", "probe", true}, {34, "answers", "", false}, {34, "ask", "goes", false}},
		"a probe's worker dies": {{0, "fails", "", false}, {0, "fails", "", false}, {0, "fails", "", true}, {10, "ask", "probe", true},
			{39, "ask", "1s", true}, {40, "ask", "probe", true}, {41, "dead", "", true}, {42, "ask", "28s", true}},
		"a probe that takes long": {{0, "fails", "", false}, {0, "fails", "", false}, {0, "fails", "", true}, {10, "ask", "probe", true},
			{35, "renews", "", true}, {41, "ask", "24s", true}, {60, "fails", "", true}, {61, "ask", "19s", true}},
		"Retry-After, the first time": {{0, "limited", "", false}, {0, "limited", "", false}, {0, "limited", "", true},
			{1, "ask", "24s", true}},
		"Retry-After while it is open": {{0, "fails", "", false}, {0, "fails", "", false}, {0, "fails", "", true}, {1, "busy", "", true},
			{2, "ask", "24s", true}},
		"what was asked before an answer": {{5, "answers", "", false}, {6, "late", "", false}, {6, "late", "", false}, {6, "late", "", false}},
		"the clock is put back": {{5000, "fails", "", false}, {5000, "fails", "", false}, {5000, "fails", "", true}, {5010, "ask", "probe", true},
			{0, "ask", "probe", true}, {1, "ask", "29s", true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s State
			var probe string
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for n, step := range steps {
				now := start.Add(time.Duration(step.at * float64(time.Second)))
				failed := Failure{ErrorType: "ModelUnavailable", Error: "HTTP 503", Probe: probe, Began: now.Add(-time.Second)}
				got := ""
				switch step.do {
				case "ask":
					v := s.Ask(now, fmt.Sprint(n))
					if got = spoken(v); v.Probe != "" {
						probe = v.Probe
					}
				case "heard":
					s.Heard(now)
				case "answers":
					s.Answered(now)
				case "fails":
					s.Failed(now, failed)
				case "limited":
					failed.Limited, failed.RetryAfter = true, 25*time.Second
					s.Failed(now, failed)
				case "busy":
					failed.Probe, failed.RetryAfter = "", 25*time.Second
					s.Failed(now, failed)
				case "late":
					failed.Probe, failed.Began = "", start
					s.Failed(now, failed)
				case "dead":
					s.Renew(now, "another")
				case "renews":
					s.Renew(now, probe)
				}
				if got != step.want || s.Open() != step.open {
					t.Errorf("at %v, %s: %q, open %t; want %+v", step.at, step.do, got, s.Open(), step)
				}
			}
		})
	}
}

func spoken(v Verdict) string {
	switch {
	case v.Wait > 0:
		return v.Wait.String()
	case v.Probe != "":
		return "probe"
	case v.Cold || v.Now.IsZero():
		return "trial"
	}
	return "goes"
}

// However many ask, and however a dead model fails, no minute has more than ten calls, and an open circuit never
// two at a time. Who is refused comes back when it was told to.
func TestDeadModel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		takes time.Duration // a call, until it fails
		alive time.Duration // before
	}{
		{"refuses at once", time.Millisecond, 0}, {"times out", 30 * time.Second, 0}, {"hangs", 5 * time.Minute, 0},
		{"dies", time.Millisecond, time.Minute},
	} {
		for range 20 {
			var s State
			var calls []time.Duration
			type caller struct {
				next  time.Duration
				began *Verdict
			}
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			if tt.alive > 0 {
				s.Answered(start)
			}
			callers, underway := make([]caller, 50), 0
			for n := range callers {
				callers[n].next = time.Duration(n) * time.Microsecond
				if tt.alive > 0 { // each has its own time between two calls
					callers[n].next = time.Duration(n)*200*time.Millisecond + rand.N(50*time.Millisecond)
				}
			}
			for range 100_000 {
				c := &callers[0]
				for n := range callers {
					if callers[n].next < c.next {
						c = &callers[n]
					}
				}
				now := start.Add(c.next)
				if v := c.began; v != nil {
					s.Failed(now, Failure{ErrorType: "ModelUnavailable", Probe: v.Probe, Began: v.Now})
					c.began, underway = nil, underway-1
					c.next += time.Second + rand.N(time.Second)
					continue
				}
				v := s.Ask(now, fmt.Sprint(c.next))
				if v.Wait > 0 {
					c.next += v.Wait
					continue
				}
				if v.Probe != "" && underway > 0 && tt.takes < Claim {
					t.Fatalf("%s: a probe beside %d calls", tt.name, underway)
				}
				c.began, underway = &v, underway+1
				calls = append(calls, c.next)
				c.next += tt.takes
				if c.next > 2*time.Hour {
					break
				}
			}
			for n := 10; n < len(calls); n++ {
				if calls[n]-calls[n-10] < time.Minute {
					t.Fatalf("%s: eleven calls between %s and %s", tt.name, calls[n-10], calls[n])
				}
			}
			if len(calls) < 10 {
				t.Errorf("%s: only %d calls", tt.name, len(calls))
			}
		}
	}
}

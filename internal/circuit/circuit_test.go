package circuit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestState simulates a model: the actions of conversations, in seconds after the beginning, and the resulting state.
func TestState(t *testing.T) {
	t.Parallel()
	type step struct {
		at float64
		// do is "<conversation> <action>": ask, heard, answers, fails, limited, busy (with Retry-After 25), late (began before all
		// others), dead (renews nothing), …
		do   string
		want string // of an ask: goes, trial, probe, or the wait; of a failure: "own" if it is the conversation's
		open bool   // afterwards
	}
	allFail := []step{{0, "a fails", "", false}, {0, "b fails", "", false}, {0, "c fails", "", true}}
	for name, steps := range map[string][]step{
		"warm": {{0, "a ask", "trial", false}, {1, "a heard", "", false}, {2, "b ask", "goes", false}, {500, "b ask", "goes", false},
			{700, "b ask", "trial", false}},
		"cold": {{0, "a ask", "trial", false}, {1, "b ask", "trial", false}, {2, "c ask", "trial", false}, {3, "d ask", "17s", false},
			{20, "d ask", "trial", false}, {20.5, "e ask", "500ms", false}, {20.6, "d answers", "", false}, {20.7, "e ask", "goes", false}},
		"one conversation fails, and others are answered": {{0, "b answers", "", false}, {1, "a fails", "", false}, {2, "a fails", "", false},
			{3, "a fails", "", false}, {4, "b ask", "goes", false}, {5, "a fails", "", false}, {6, "c ask", "goes", false}},
		"two conversations fail, and a third is answered": {{0, "c answers", "", false}, {1, "a fails", "", false}, {2, "b fails", "", false},
			{3, "a fails", "", false}, {4, "b fails", "", false}, {5, "c fails", "", true}},
		"all active conversations fail": {{0, "a answers", "", false}, {0, "b answers", "", false}, {1, "a fails", "", false},
			{2, "b fails", "", false}, {3, "a fails", "", true}, {4, "b ask", "9s", true}, {4, "c ask", "trial", true},
			{5, "c fails", "", true}, {6, "d ask", "7s", true}},
		"a lone conversation fails, and a new one comes": {{0, "a fails", "", false}, {1, "a fails", "", false}, {3, "a fails", "", true},
			{4, "a ask", "9s", true}, {5, "b ask", "trial", true}, {6, "b heard", "", true}, {6, "c ask", "goes", true},
			{7, "b answers", "", false}, {7, "a ask", "goes", false}},
		"replicas of one investigation fail beside another": {{0, "b answers", "", false}, {1, "a/1 fails", "", false},
			{1, "a/2 fails", "", false}, {1, "a/3 fails", "", false}, {2, "b ask", "goes", false}, {62, "a/1 fails", "", true}},
		"replicas of the only investigation fail": {{1, "a/1 fails", "", false}, {1, "a/2 fails", "", false}, {1, "a/3 fails", "", true},
			{2, "b ask", "9s", true}},
		"not its own: nobody is answered": {{0, "b answers", "", false}, {1, "a fails", "", false}, {2, "a fails", "", false},
			{4, "a fails", "", false}, {8, "a fails", "", false}, {16, "a fails", "", false}, {32, "a fails", "", false}},
		"not its own: another one fails, too": {{0, "c answers", "", false}, {2, "b fails", "", false}, {2, "a fails", "", false},
			{3, "b fails", "", false}, {4, "c answers", "", false}, {4, "d answers", "", false}, {4, "e answers", "", false},
			{5, "a fails", "", false}, {6, "a fails", "", false}, {10, "a fails", "", false}, {18, "a fails", "", false}},
		"not its own: a limit of the rate": {{0, "a limited", "", false}, {1, "b answers", "", false}, {1, "c answers", "", false},
			{1, "d answers", "", false}, {2, "a limited", "", false}, {4, "a limited", "", false}, {8, "a limited", "", false},
			{16, "a limited", "", false}},
		"a partial stream": {{0, "a heard", "", false}, {1, "a fails", "", false}, {2, "a heard", "", false}, {3, "a fails", "", false},
			{4, "a heard", "", false}, {5, "a fails", "", true}, {6, "a heard", "", true}, {7, "a ask", "8s", true}},
		"opens, and one probe at a time": append(allFail[:3:3], step{1, "a ask", "9s", true},
			step{10, "a ask", "probe", true}, step{11, "b ask", "29s", true}, step{12, "c late", "", true}, step{13, "a fails", "", true},
			step{14, "b ask", "19s", true}, step{33, "b ask", "probe", true}, step{34, "b answers", "", false}, step{34, "a ask", "goes", false}),
		"the last prober lets others go first": append(allFail[:3:3], step{10, "a ask", "probe", true}, step{11, "a fails", "", true},
			step{12, "b waits", "19s", true}, step{31, "a ask", "20s", true}, step{40, "b ask", "probe", true}, step{41, "b fails", "", true},
			step{81, "b ask", "probe", true}),
		"a probe's worker dies": append(allFail[:3:3], step{10, "a ask", "probe", true},
			step{39, "b ask", "1s", true}, step{40, "b ask", "probe", true}, step{41, "a dead", "", true}, step{42, "c ask", "28s", true}),
		"a probe that takes long": append(allFail[:3:3], step{10, "a ask", "probe", true},
			step{35, "a renews", "", true}, step{41, "b ask", "24s", true}, step{60, "a fails", "", true}, step{61, "b ask", "19s", true}),
		"Retry-After, the first time": {{0, "a limited", "", false}, {0, "b limited", "", false}, {0, "c limited", "", true},
			{1, "a ask", "24s", true}},
		"Retry-After while it is open": append(allFail[:3:3], step{1, "a busy", "", true}, step{2, "b ask", "24s", true}),
		"asked before an answer": {{5, "b answers", "", false}, {6, "a late", "", false}, {6, "c late", "", false}, {6, "d late", "", false},
			{6, "e ask", "goes", false}},
		"the clock is put back": {{5000, "a fails", "", false}, {5000, "b fails", "", false}, {5000, "c fails", "", true},
			{5010, "a ask", "probe", true}, {0, "b ask", "probe", true}, {1, "c ask", "29s", true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s State
			var probe string
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for n, step := range steps {
				now := start.Add(time.Duration(step.at * float64(time.Second)))
				who, do, _ := strings.Cut(step.do, " ")
				by := Conversation{Investigation: who[:1], Execution: who}
				failed := Failure{ErrorType: "ModelUnavailable", Error: "HTTP 500", By: by, Probe: probe, Began: now.Add(-time.Second / 2)}
				got := ""
				fail := func() {
					if s.Failed(now, failed) {
						got = "own"
					}
				}
				switch do {
				case "ask", "waits":
					v := s.Ask(now, by, fmt.Sprint(n))
					if got = spoken(v); v.Probe != "" {
						probe = v.Probe
					}
					if do == "waits" {
						s.Await(by)
					}
				case "heard":
					s.Heard(now)
				case "answers":
					s.Answered(now, by)
				case "fails":
					fail()
				case "limited":
					failed.Limited, failed.RetryAfter = true, 25*time.Second
					fail()
				case "busy":
					failed.Probe, failed.RetryAfter = "", 25*time.Second
					fail()
				case "late":
					failed.Probe, failed.Began = "", start
					fail()
				case "dead":
					s.Renew(now, "another")
				case "renews":
					s.Renew(now, probe)
				default:
					t.Fatalf("unknown step %q", step.do)
				}
				if got != step.want || s.Open() != step.open {
					t.Errorf("at %v, %s: %q, open %t; want %+v", step.at, step.do, got, s.Open(), step)
				}
			}
		})
	}
}

// TestKnownAnswers: in a healthy fleet, few answers are written. Each failure of a failing conversation adds a few writes.
func TestKnownAnswers(t *testing.T) {
	t.Parallel()
	var s State
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	writes := 0
	answers := func(n int) {
		by := Conversation{Investigation: fmt.Sprint("well ", n%20), Execution: "x"}
		if !s.Known(now, by) {
			s.Answered(now, by)
			writes++
		}
		now = now.Add(10 * time.Millisecond)
	}
	for n := range 1000 {
		answers(n)
	}
	if writes > 3 {
		t.Errorf("%d writes in ten seconds without failures", writes)
	}
	writes = 0
	for range 5 {
		s.Failed(now, Failure{ErrorType: "x", By: Conversation{Investigation: "sick"}, Began: now})
		for n := range 200 {
			answers(n)
		}
	}
	if writes < 5 || writes > 5*maxBeside || s.Open() {
		t.Errorf("%d writes beside five failures, open %t", writes, s.Open())
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

// However many conversations ask, and however a dead model fails, no minute has more than ten calls, and an open circuit never has
// two at a time. A refused caller comes back when it was told to.
func TestDeadModel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		takes    time.Duration // a call, until it fails
		alive    time.Duration // before
		replicas int           // of each investigation
	}{
		{"refuses at once", time.Millisecond, 0, 1}, {"times out", 30 * time.Second, 0, 1}, {"hangs", 5 * time.Minute, 0, 1},
		{"dies", time.Millisecond, time.Minute, 1}, {"refuses one investigation", time.Millisecond, 0, 50}, {"refuses ten", time.Second, 0, 5},
	} {
		for range 20 {
			var s State
			var calls []time.Duration
			type caller struct {
				next  time.Duration
				began *Verdict
				by    Conversation
			}
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			if tt.alive > 0 {
				s.Answered(start, Conversation{Investigation: "0"})
			}
			callers, underway := make([]caller, 50), 0
			for n := range callers {
				callers[n].next = time.Duration(n) * time.Microsecond
				callers[n].by.Execution = fmt.Sprint(n)
				callers[n].by.Investigation = fmt.Sprint(n / tt.replicas)
				if tt.alive > 0 { // the callers start at different times
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
					s.Failed(now, Failure{ErrorType: "ModelUnavailable", Probe: v.Probe, By: c.by, Began: v.Now})
					c.began, underway = nil, underway-1
					c.next += time.Second + rand.N(time.Second)
					continue
				}
				v := s.Ask(now, c.by, fmt.Sprint(c.next))
				if v.Wait > 0 {
					s.Await(c.by)
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

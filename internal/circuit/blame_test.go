package circuit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// fleet is a set of conversations that share a model, each with one call at a time. A failed call is retried after a backoff of one
// second to one minute. After an answer, the next call follows after a pause.
type fleet struct {
	state State
	rand  *rand.Rand
	now   time.Time
	all   []*caller
}

type caller struct {
	by    Conversation
	fails float64       // probability
	pause time.Duration // average between an answer and the next call

	next            time.Time
	verdict         *Verdict // of the running call
	attempts, tries int      // in total, and since the last answer
	blamed          bool
}

func newFleet(seed uint64) *fleet {
	return &fleet{rand: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (f *fleet) add(c caller) *caller {
	c.by = Conversation{Investigation: fmt.Sprint(len(f.all)), Execution: "a"}
	c.next = f.now.Add(f.upTo(c.pause))
	f.all = append(f.all, &c)
	return &c
}

func (f *fleet) upTo(d time.Duration) time.Duration {
	return time.Duration(f.rand.Int64N(int64(d) + 1))
}

// run simulates the fleet until the time is over, or until done.
func (f *fleet) run(within time.Duration, done func() bool) {
	for end := f.now.Add(within); ; {
		var c *caller
		for _, other := range f.all {
			if !other.blamed && (c == nil || other.next.Before(c.next)) {
				c = other
			}
		}
		if c == nil || c.next.After(end) || done() {
			return
		}
		f.now = c.next
		f.step(c)
	}
}

func (f *fleet) step(c *caller) {
	if v := c.verdict; v != nil {
		c.verdict = nil
		f.end(c, *v)
		return
	}
	v := f.state.Ask(f.now, c.by, fmt.Sprint(c.by, f.now))
	if v.Wait > 0 {
		f.state.Await(c.by)
		c.next = f.now.Add(min(v.Wait, time.Minute))
		return
	}
	c.verdict, c.attempts = &v, c.attempts+1
	c.next = f.now.Add(f.upTo(2 * time.Second))
}

func (f *fleet) end(c *caller, v Verdict) {
	if f.rand.Float64() >= c.fails {
		if !f.state.Known(f.now, c.by) {
			f.state.Answered(f.now, c.by)
		}
		c.tries = 0
		c.next = f.now.Add(f.upTo(2 * c.pause))
		return
	}
	failed := Failure{ErrorType: "ModelUnavailable", Error: "HTTP 500", By: c.by, Began: v.Now, Probe: v.Probe}
	c.blamed = f.state.Failed(f.now, failed)
	c.next = f.now.Add(min(time.Second<<min(c.tries, 6), time.Minute))
	c.tries++
}

func never() bool { return false }

// A provider in trouble fails calls at random, whoever makes them: no conversation is blamed.
func TestBrownoutBlamesNobody(t *testing.T) {
	t.Parallel()
	for _, agents := range []int{1, 2, 3, 20} {
		for _, fails := range []float64{0.1, 0.3, 0.5, 0.7, 0.9} {
			for _, pause := range []time.Duration{3 * time.Second, time.Minute} {
				t.Run(fmt.Sprint(agents, " agents, ", fails, ", ", pause), func(t *testing.T) {
					t.Parallel()
					for seed := range uint64(4) {
						f := newFleet(seed)
						for range agents {
							f.add(caller{fails: fails, pause: pause})
						}
						f.run(time.Hour, never)
						for n, c := range f.all {
							if c.blamed {
								t.Errorf("seed %d: conversation %d is blamed after %d attempts, %d since its last answer", seed, n, c.attempts, c.tries)
							}
						}
					}
				})
			}
		}
	}
}

// A provider alternates between answering for some minutes and failing all calls for some: no conversation is blamed.
func TestOutagesBlameNobody(t *testing.T) {
	t.Parallel()
	for _, agents := range []int{2, 3, 20} {
		for _, lasts := range []time.Duration{15 * time.Second, 2 * time.Minute, 10 * time.Minute} {
			for seed := range uint64(4) {
				f := newFleet(seed)
				for range agents {
					f.add(caller{pause: 5 * time.Second})
				}
				for n := range 20 {
					for _, c := range f.all {
						c.fails = float64(n % 2)
					}
					f.run(lasts, never)
				}
				for n, c := range f.all {
					if c.blamed {
						t.Errorf("%d agents, outages of %s, seed %d: conversation %d is blamed", agents, lasts, seed, n)
					}
				}
			}
		}
	}
}

// Some other conversations call the model briefly and are answered. Then the conversation is alone with its failures. It is still
// blamed, within a minute.
func TestSickConversationBesideABurst(t *testing.T) {
	t.Parallel()
	var s State
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	by := Conversation{Investigation: "sick", Execution: "a"}
	for n, wait := range []time.Duration{0, 1, 2, 4, 8, 16} {
		now = now.Add(wait * time.Second)
		if own := s.Failed(now, Failure{ErrorType: "ModelUnavailable", By: by, Began: now}); own != (n == 5) {
			t.Errorf("failure %d: blamed %t", n+1, own)
		}
		for m := 0; n == 1 && m < 12; m++ {
			other := Conversation{Investigation: fmt.Sprint(m % 6), Execution: "a"}
			if now = now.Add(50 * time.Millisecond); !s.Known(now, other) {
				s.Answered(now, other)
			}
		}
	}
}

// A conversation that always fails is blamed, and no other is. This holds beside few others, if these rarely call the model, and if
// their own calls sometimes fail.
func TestSickConversationIsBlamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		sick, healthy int
		pause         time.Duration
		fails         float64 // of the healthy ones
		most          int     // attempts
	}{
		{1, 20, 3 * time.Second, 0, 8}, {1, 20, 3 * time.Second, 0.05, 12}, {1, 20, 3 * time.Second, 0.2, 30}, {1, 20, 5 * time.Minute, 0, 12},
		{3, 20, 3 * time.Second, 0, 14},
		{1, 3, 3 * time.Second, 0, 10}, {1, 3, 3 * time.Second, 0.05, 16}, {1, 3, 5 * time.Minute, 0, 30},
		{1, 2, 3 * time.Second, 0, 12}, {1, 2, time.Minute, 0, 20}, {1, 2, 5 * time.Minute, 0, 40},
		{1, 1, 3 * time.Second, 0, 14}, {1, 1, time.Minute, 0, 25}, {1, 1, 5 * time.Minute, 0, 60},
	} {
		t.Run(fmt.Sprint(tt.sick, " sick, ", tt.healthy, " healthy, ", tt.pause, ", ", tt.fails), func(t *testing.T) {
			t.Parallel()
			worst := 0
			for seed := range uint64(8) {
				f := newFleet(seed)
				for range tt.healthy {
					f.add(caller{fails: tt.fails, pause: tt.pause})
				}
				f.run(tt.pause, never)
				for range tt.sick {
					f.add(caller{fails: 1, pause: time.Second})
				}
				sick := f.all[tt.healthy:]
				f.run(3*time.Hour, func() bool { return !slices.ContainsFunc(sick, func(c *caller) bool { return !c.blamed }) })
				for _, c := range sick {
					worst = max(worst, c.attempts)
					if !c.blamed || c.attempts > tt.most {
						t.Errorf("seed %d: blamed %t after %d attempts", seed, c.blamed, c.attempts)
					}
				}
				for n, c := range f.all[:tt.healthy] {
					if c.blamed {
						t.Errorf("seed %d: the healthy conversation %d is blamed", seed, n)
					}
				}
			}
			t.Logf("at most %d attempts", worst)
		})
	}
}

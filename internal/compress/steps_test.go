package compress_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/inquest-dev/inquest/internal/agent"
	. "github.com/inquest-dev/inquest/internal/compress"
)

// TestSteady replays a long run: a compressed view nearly always begins like the previous one, and always fits.
func TestSteady(t *testing.T) {
	t.Parallel()
	all := join([]agent.Message{system("You investigate."), user("the task")}, steps(200, 2000))
	for name, opts := range map[string]Options{"investigation": investigation(8000), "conversation": options(8000, 4, Window)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := map[bool]int{}
			for _, opts.Steady = range []bool{false, true} {
				var last []agent.Message
				for n := 2; n <= len(all); n += 2 {
					got, err := View(all[:n], opts)
					if err != nil || float64(got.Compressed) > 0.8*8000 {
						t.Fatalf("%d messages: %d tokens, %v", n, got.Compressed, err)
					}
					if len(got.Messages) < len(last) || !cmp.Equal(got.Messages[:len(last)], last) {
						changed[opts.Steady]++
					}
					last = got.Messages
				}
			}
			if changed[true]*5 > changed[false] {
				t.Errorf("the beginning changed %d times in 200 requests; not steady, %d times", changed[true], changed[false])
			}
		})
	}
}

// TestSteadyProperties: it fits, keeps the required messages unchanged, and shows the last core memory.
func TestSteadyProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		msgs, opts := conversations(t), anyOptions(t)
		opts.Steady = true
		var memory []agent.Message
		for i := len(msgs) - 1; i > 0; i-- {
			if msgs[i].Role == agent.User && rapid.IntRange(0, 4).Draw(t, "memory") == 0 && i > 2 {
				msgs[i].Memory = true
				memory = append(memory, msgs[i])
			}
		}
		got, err := View(msgs, opts)
		if err != nil {
			return // its size prevents a view, as without steps
		}
		if most := max(opts.Threshold, 0.01) * float64(opts.MaxTokens); float64(got.Compressed+opts.ToolTokens) > most {
			t.Fatalf("%d tokens of %v", got.Compressed, most)
		}
		checkSystem(t, msgs, got.Messages)
		checkCalls(t, msgs, got.Messages)
		if len(memory) > 0 && !slices.ContainsFunc(got.Messages, func(m agent.Message) bool { return cmp.Equal(m, memory[0]) }) {
			t.Fatalf("the last core memory is not in the view")
		}
	})
}

package terminal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Lines break between words and never within a command.
func TestFold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"fits":                    {"thirty columns are enough here", "thirty columns are enough here"},
		"words":                   {"the pool of connections is exhausted\n  since two", "the pool of connections is\n  exhausted\n  since two"},
		"indented":                {"  the pool of connections is exhausted", "  the pool of connections is\n    exhausted"},
		"wide characters":         {"日本語 日本語 日本語 日本語 日本語", "日本語 日本語 日本語 日本語\n  日本語"},
		"a command within a text": {"no report yet: `starter watch a1` shows it", "no report yet:\n  `starter watch a1` shows it"},
		"a command alone":         {"  starter decide lab dig/Alpha/c1_0 --approve", "  starter decide lab dig/Alpha/c1_0 --approve"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Fold(tt.text, 30)); diff != "" {
				t.Error(diff)
			}
			if got := Fold(tt.text, 0); got != tt.text {
				t.Errorf("elsewhere: %q", got)
			}
		})
	}
	if got, want := Hang("status  a text that goes on", 20, 8), "status  a text that\n  goes on"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

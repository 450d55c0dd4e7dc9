package spell_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/spell"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"tpye", "type", 2}, {"query", "qeury", 2}, {"kitten", "sitting", 3}, {"same", "same", 0},
	} {
		if got := spell.Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q to %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

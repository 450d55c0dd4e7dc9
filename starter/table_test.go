package main

import (
	"slices"
	"strings"
	"testing"
)

// A question is one line of a terminal, and no table loses more than a part of its texts.
func TestFit(t *testing.T) {
	t.Parallel()
	inbox := func() [][]string {
		return [][]string{
			{"ID", "QUESTION", "KIND", "STAGE", "TEXT", "EXPIRES IN"},
			{"sample-0a1b2c3d", "q1", "clarification", "plan", strings.Repeat("x", maxShown), "23h59m59s"},
		}
	}
	for name, tt := range map[string]struct{ width, want int }{
		"wide": {200, maxShown}, "as wide as it needs": {15 + 8 + 13 + 5 + maxShown + 10 + 10, maxShown},
		"a bit narrow": {85, 24}, "narrow": {40, minProse},
	} {
		rows := inbox()
		cut := fit(rows, tt.width)
		if got := len([]rune(rows[1][4])); got != tt.want || !slices.Equal(cut, []bool{tt.want < maxShown}) {
			t.Errorf("%s: %d characters are left (cut: %t), want %d", name, got, cut, tt.want)
		}
	}
	calls := [][]string{{"ID", "CALL"}, {strings.Repeat("x", 90), "c1_0"}}
	if fit(calls, 80); !slices.Equal(calls[1], []string{strings.Repeat("x", 90), "c1_0"}) {
		t.Errorf("%q: what people type is never cut", calls[1])
	}
}

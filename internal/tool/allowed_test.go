package tool

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNarrower(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, of string
		want        bool
	}{
		{"dev-7", "dev-*", true}, {"dev-a*", "dev-*", true}, {"dev-?", "dev-*", true}, {"dev-*", "dev-*", true}, {"dev-?", "dev-?", true},
		{"d*", "dev-*", false}, {"*", "dev-*", false}, {"prod", "dev-*", false}, {"dev-*", "dev-?", false},
		{"dev-*", "dev-7", false}, {"", "*", true},
	} {
		if got := Narrower(tt.pattern, []string{"never", tt.of}); got != tt.want {
			t.Errorf("%q is narrower than %q: %t", tt.pattern, tt.of, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		pattern, of := rapid.StringMatching(`[ab*?]{0,6}`).Draw(t, "pattern"), rapid.StringMatching(`[ab*?]{0,6}`).Draw(t, "of")
		text := rapid.StringMatching(`[abä*?]{0,8}`).Draw(t, "text")
		if Narrower(pattern, []string{of}) && Glob(pattern, text) && !Glob(of, text) {
			t.Fatalf("%q lets %q through, and %q does not", pattern, text, of)
		}
	})
}

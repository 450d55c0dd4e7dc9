package client

import (
	"strings"
	"testing"
)

// The beginning of a digest names the call that waits, if it is long enough to be no guess.
func TestWholeDigest(t *testing.T) {
	t.Parallel()
	waiting := strings.Repeat("0123456789abcdef", 4)
	for given, want := range map[string]string{
		waiting[:12]: waiting, waiting[:11]: waiting[:11], "fedcba987654": "fedcba987654", "": waiting, waiting: waiting,
	} {
		if got := wholeDigest(given, waiting); got != want {
			t.Errorf("%q is taken for %q", given, got)
		}
	}
}

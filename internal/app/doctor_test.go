package app

import (
	"testing"
	"time"
)

func TestSkewed(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[time.Duration]string{
		7 * time.Second:  "that of the database is 7s ahead of the one here",
		-7 * time.Second: "that of the database is 7s behind the one here",
	} {
		if got := skewed("the database", ahead).Found; got != want {
			t.Errorf("%s: %q, want %q", ahead, got, want)
		}
	}
}

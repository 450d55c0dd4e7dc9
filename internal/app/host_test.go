package app

import "testing"

func TestCachedWorkflows(t *testing.T) {
	t.Parallel()
	for calls, want := range map[int]int{0: 1000, 5: 200, 300: 300, 5000: 5000} {
		if got := CachedWorkflows(calls); got != want {
			t.Errorf("a worker of %d calls keeps %d workflows, want %d", calls, got, want)
		}
	}
}

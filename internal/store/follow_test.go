package store

import "testing"

func TestHub(t *testing.T) {
	t.Parallel()
	h := newHub()
	one, stopOne := h.subscribe("a")
	two, stopTwo := h.subscribe("a")
	other, stopOther := h.subscribe("b")

	h.wake("a")
	h.wake("a") // does not block, and is merged with the first one
	h.wake("nobody")
	for name, c := range map[string]struct {
		wake <-chan struct{}
		want int
	}{"one": {one, 1}, "two": {two, 1}, "other": {other, 0}} {
		if len(c.wake) != c.want {
			t.Errorf("%s was woken %d times, want %d", name, len(c.wake), c.want)
		}
	}
	for _, stop := range []func(){stopOne, stopTwo, stopOther} {
		stop()
	}
	if len(h.followers) != 0 {
		t.Errorf("%d are still followed", len(h.followers))
	}
}

package look

import (
	"slices"
	"testing"
)

// A cell breaks no word.
func TestInCell(t *testing.T) {
	t.Parallel()
	got := inCell("see https://runbooks.example/checkout/pool-exhausted first", 20)
	if want := []string{"see", "https://runbooks.ex…", "first"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

package record_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/record"
)

func TestInTree(t *testing.T) {
	t.Parallel()
	names := []string{"A", "A-2", "Syn", "A/L-1", "A-2/L-1", "A/L-1/D-1", "A/L-2", "A/L-1/D-2", "Gone/L-1"}
	got := record.InTree(names, func(name string) string { return name })
	want := []string{"A", "A/L-1", "A/L-1/D-1", "A/L-1/D-2", "A/L-2", "A-2", "A-2/L-1", "Syn", "Gone/L-1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

package record_test

import (
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
)

func TestWhen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 17, 14, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		from time.Duration
		want string
	}{
		{-12 * time.Second, "12s ago (13:59:48 UTC)"}, {0, "0s ago (14:00:00 UTC)"}, {59 * time.Minute, "in 59m (14:59:00 UTC)"},
		{-30 * time.Hour, "30h ago (2026-03-16 08:00 UTC)"}, {72 * time.Hour, "in 3d (2026-03-20 14:00 UTC)"},
	} {
		if got := record.When(now.Add(test.from), now); got != test.want {
			t.Errorf("%s: %q, want %q", test.from, got, test.want)
		}
	}
}

package notify

import (
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
)

func TestQuietUntil(t *testing.T) {
	t.Parallel()
	const now = "1970-01-01T00:00:00Z"
	for _, test := range []struct{ hours, zone, at, want string }{
		{"", "UTC", "2026-11-30T23:00:00Z", now},
		{"22:00-07:00", "UTC", "2026-11-30T21:59:59Z", now},
		{"22:00-07:00", "UTC", "2026-11-30T22:00:00Z", "2026-12-01T07:00:00Z"},
		{"22:00-07:00", "UTC", "2026-12-01T06:59:59Z", "2026-12-01T07:00:00Z"},
		{"22:00-07:00", "UTC", "2026-12-01T07:00:00Z", now},
		{"12:00-13:30", "UTC", "2026-11-30T12:10:00Z", "2026-11-30T13:30:00Z"},
		{"12:00-13:30", "UTC", "2026-11-30T13:30:00Z", now},
		{"22:00-07:00", "Europe/Berlin", "2026-03-28T22:30:00Z", "2026-03-29T05:00:00Z"}, // the clocks change in this night
		{"22:00-07:00", "America/New_York", "2026-11-30T23:00:00Z", now},
	} {
		at, err := time.Parse(time.RFC3339, test.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := quietUntil(test.hours, plan.Calendar{Timezone: test.zone}, at).UTC().Format(time.RFC3339); got != test.want {
			t.Errorf("%+v: got %s", test, got)
		}
	}
}

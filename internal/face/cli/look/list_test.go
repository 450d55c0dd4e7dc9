package look

import (
	"slices"
	"testing"
	"time"
)

// IDs are truncated to an unambiguous prefix that people can still recognise.
func TestBeginnings(t *testing.T) {
	t.Parallel()
	got := beginnings([]string{"incident-5apk2qai2gme55a3", "incident-5apk9", "incident-x", "lab", "lab"})
	if want := []string{"incident-5apk2", "incident-5apk9", "incident-x", "lab", "lab"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSinceTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 17, 14, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "2h": now.Add(-2 * time.Hour), "3d": now.AddDate(0, 0, -3), "2026-03-01": time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		"2026-03-01 12:30": time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC), "2026-03-17T14:00:00+01:00": now.Add(-time.Hour),
	} {
		if got, err := sinceTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "-2h", "-1d", "d", "2026-13-01"} {
		if _, err := sinceTime(text, now); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

package record

import (
	"fmt"
	"time"
)

// When formats a past or future time for people: "3m ago (14:05:02 UTC)", "in 2h (…)". It uses the zone of at.
func When(at, now time.Time) string {
	layout := "2006-01-02 15:04 MST"
	if at.Format(time.DateOnly) == now.In(at.Location()).Format(time.DateOnly) {
		layout = "15:04:05 MST"
	}
	if at.After(now) {
		return fmt.Sprintf("in %s (%s)", Age(at.Sub(now)), at.Format(layout))
	}
	return fmt.Sprintf("%s ago (%s)", Age(now.Sub(at)), at.Format(layout))
}

// Age formats a duration in its largest unit: 12s, 3m, 2h, 5d.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}

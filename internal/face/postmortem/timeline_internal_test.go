package postmortem

import (
	"testing"
	"time"
)

// Only times whose meaning is known are in the timeline, in UTC.
func TestTimeIn(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 3, 17, 14, 20, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"14:02 UTC: deploy":                     "2026-03-17 14:02:00",
		"errors since 14:02:11Z.":               "2026-03-17 14:02:11",
		"at 14:03 errors":                       "2026-03-17 14:03:00 local",
		"at 23:59 the day before":               "2026-03-16 23:59:00 local",
		"2026-03-17T14:04Z: alert":              "2026-03-17 14:04:00",
		"2026-03-17 14:05:00 UTC pager":         "2026-03-17 14:05:00",
		"(2026-03-17T16:06:01.123+02:00)":       "2026-03-17 14:06:01",
		"2026-03-17 16:07:00 +0200 CEST m=+0.1": "2026-03-17 14:07:00",
		"12 of 20 failed at 14:08":              "2026-03-17 14:08:00 local",
		"took 00:12:30, ended 14:09 UTC":        "2026-03-17 14:09:00",
		"at 02:05 PM":                           "", "at 14:02 CET": "", "server.js:10:15": "", "job took 00:12:30": "", "00:16:3e:aa:bb:cc": "",
		"10.0.0.1:12:34": "", "nothing": "", "25:61 UTC": "", "2026-13-45T14:02Z": "",
	} {
		at, local, ok := timeIn(text, end)
		got := ""
		if ok {
			got = at.UTC().Format(time.DateTime)
		}
		if local {
			got += " local"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

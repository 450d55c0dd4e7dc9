package webhook

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // Europe/Berlin, wherever the test runs
)

// Times of monitoring tools are read in all their forms. A time that could mean several instants is refused.
func TestMoments(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 28, 7, 0, 0, 0, time.UTC)
	for said, want := range map[string]time.Time{
		// with a zone
		"2026-11-28T07:00:00Z":                                               day,
		"2026-11-28T08:00:00+01:00":                                          day,
		"2026-11-28T07:00:00.000+0000":                                       day, // CloudWatch
		"20261128T070000Z":                                                   day,
		"2026-11-28 07:00:00Z":                                               day,
		"2026-11-28 08:00:00+01":                                             day,                                // PostgreSQL
		"2026-11-28 07:00:00.123456+00:00":                                   day.Add(123456 * time.Microsecond), // Python
		"2026-11-28T08:00:00.5+01:00[Europe/Berlin]":                         day.Add(500 * time.Millisecond),    // Java
		"2026-11-28 07:00:00.123456789 +0000 UTC m=+0.0000042":               day.Add(123456 * time.Microsecond), // Go
		"2026-11-28 10:30:00 +0330 +0330":                                    day,
		"Sat, 28 Nov 2026 07:00:00 GMT":                                      day, // RFC 1123
		"Sat, 28 Nov 2026 08:00:00 +0100":                                    day,
		"Saturday, 28-Nov-26 07:00:00 UTC":                                   day, // RFC 850
		"28 Nov 26 07:00 UT":                                                 day, // RFC 822
		"Sat Nov 28 07:00:00 UTC 2026":                                       day, // date, Java
		"Sat Nov 28 08:00:00 +0100 2026":                                     day,
		"Sat Nov 28 2026 08:00:00 GMT+0100 (Central European Standard Time)": day,                                           // JavaScript
		"April 27, 2025, 20:01 CEST":                                         time.Date(2025, 4, 27, 18, 1, 0, 0, time.UTC), // Site24x7
		"Saturday, November 28th, 2026 7:00 AM":                              day,
		"November 28, 2026 at 8:00:00 AM UTC+1":                              day,
		"28/Nov/2026:07:00:00 +0000":                                         day, // access logs
		"11/28/2026 7:00:00 AM (UTC)":                                        day, // PRTG
		"2026-11-28 08:00:00 Europe/Berlin":                                  day,
		"2026-11-28 02:00:00 est":                                            day,
		"07:00:00 UTC on Saturday 28 November 2026":                          day,
		"2026-11-28t07:00:00z":                                               day,                             // RFC 3339 allows lower case
		"2026-11-28T07:00:00+00:00Z":                                         day,                             // Python: isoformat() + "Z"
		"2026-11-28T07:00:00.5Z[UTC]":                                        day.Add(500 * time.Millisecond), // Java's ZonedDateTime
		"20261128T0700Z":                                                     day,
		"20261128070000.0Z":                                                  day, // LDAP
		"20261128080000+0100":                                                day,
		"Sept. 28, 2026, 7:00 a.m. UTC":                                      time.Date(2026, 9, 28, 7, 0, 0, 0, time.UTC), // Django
		"28. November 2026 07:00:00 UTC":                                     day,
		"Saturday, the 28th of November 2026, 7:00 AM UTC":                   day,
		"2026.11.28 - 07:00:00 | UTC":                                        day,
		// without a zone
		"2026-11-28 07:00:00.123":          day.Add(123 * time.Millisecond), // Uptime Kuma
		"2026-11-28 07:00:00,123":          day.Add(123 * time.Millisecond), // Python's logging
		"2026-11-28T07:00:00":              day,
		"2026.11.28 07:00:00":              day, // Zabbix
		"07:00:00 2026.11.28":              day,
		"2026/11/28 07:00":                 day,
		"28.11.2026 07:00:00":              day,
		"11-28-2026 07:00:00":              day, // Nagios
		"28/11/2026 07:00:00":              day,
		"28.11.2026, 7:00:00 PM":           day.Add(12 * time.Hour),
		"Sat Nov 28 07:00:00 2026":         day, // ANSI C
		"Nov 28, 2026 @ 07:00:00.000":      day, // Kibana
		"Nov 28, 2026, 7:00:00\u202fAM":    day, // JavaScript and Java since CLDR 42
		"11/28/2026,\u00a07:00 a.\u00a0m.": day, // in Spanish
		"11/28/26, 7:00 AM":                day, // Java's short style
		"28.11.2026 07:00 Uhr":             day,
		"2026-11-28_07:00:00":              day,
		"/Date(1795849200000)/":            day, // PowerShell
		"May 5 2026 07:00":                 time.Date(2026, 5, 5, 7, 0, 0, 0, time.UTC),
		"5/5/2026 07:00":                   time.Date(2026, 5, 5, 7, 0, 0, 0, time.UTC),
		"20261128070000":                   day,
		"20261128T070000":                  day,
		"202611280700":                     day,
		"1795849200":                       day,
		"1795849200.25":                    day.Add(250 * time.Millisecond),
		"1.7958492e9":                      day,
		"1795849200123":                    day.Add(123 * time.Millisecond),
		"1795849200123000":                 day.Add(123 * time.Millisecond),
		"1795849200123000000":              day.Add(123 * time.Millisecond),
		// none
		"-62135596800": {}, "1601-01-01T00:00:00Z": {}, "1900-01-01 00:00:00": {}, "1970-01-01 01:00:00": {},
		"0": {}, "0001-01-01T00:00:00Z": {}, "1970-01-01T00:00:00Z": {}, "0001-01-01 00:00:00 +0000 UTC": {},
	} {
		got, err := moment(said, "")
		if err != nil || got.Sub(want).Abs() > time.Microsecond {
			t.Errorf("%q: %v, %v, want %v", said, got, err, want)
		}
	}
	for said, why := range map[string]string{
		"yesterday":                     "as a time",
		"07:00:00":                      "as a time",
		"2026-11-28":                    "as a time",
		"2026-13-28 07:00:00":           "as a time",
		"2026-11-28 25:00:00":           "as a time",
		"28 listopada 2026 07:00":       "as a time",
		"NaN":                           "as a time",
		"2026":                          "as a time",
		"20261128":                      "as a time",
		"5":                             "as a time",
		"11:00 7:00 2026-11-28":         "as a time",
		"28/11/26 07:00":                "two ways",
		"-Inf":                          "as a time",
		"1e300":                         "as a time",
		"99999-01-01T00:00:00Z":         "as a time",
		strings.Repeat("1 ", 100):       "as a time",
		`{"seconds":1795849200}`:        "as a time",
		"01/02/2026 07:00":              "two ways",
		"2026-11-28 07:00:00 CST":       "time zone is unknown or has several meanings",
		"2026-11-28 07:00:00 IST":       "time zone is unknown",
		"2026-11-28 07:00:00 +99:00":    "time zone is unknown",
		"2026-11-28 07:00:00 Mars/Base": "time zone is unknown",
	} {
		if at, err := moment(said, ""); err == nil || !strings.Contains(err.Error(), why) || !at.IsZero() {
			t.Errorf("%q: %v, %v", said, at, err)
		}
	}
	// The zone beside a time counts only for a time that has none.
	for zone, want := range map[string]time.Time{
		"+01:00": day, "Europe/Berlin": day, "CET": day, "UTC": day.Add(time.Hour), "": day.Add(time.Hour),
	} {
		got, err := moment("2026-11-28 08:00:00", zone)
		own, wrong := moment("2026-11-28T07:00:00Z", zone)
		compact, failed := moment("20261128080000", zone)
		if err != nil || !got.Equal(want) || failed != nil || !compact.Equal(want) || wrong != nil || !own.Equal(day) {
			t.Errorf("%q: %v, %v and %v, %v and %v, %v", zone, got, err, own, wrong, compact, failed)
		}
	}
	if at, err := moment("2026-11-28 08:00:00", "Local time"); err == nil {
		t.Errorf("an unknown zone: %v", at)
	}
}

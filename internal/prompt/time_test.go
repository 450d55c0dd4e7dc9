package prompt

import (
	"testing"
	"time"
	_ "time/tzdata" // Europe/Berlin, wherever the test runs

	"github.com/inquest-dev/inquest/internal/plan"
)

func TestTime(t *testing.T) {
	berlin := plan.Calendar{
		Timezone: "Europe/Berlin", Hours: "09:00-17:00", Weekend: []string{"saturday", "Sunday"},
		Holidays: []plan.Holiday{{Date: "12-25", Name: "Christmas"}, {Date: "2026-12-31", Name: "Closing day"}},
	}
	nights := plan.Calendar{Hours: "22:00-06:00"}
	shifts := plan.Calendar{Hours: "22:00-06:00", Weekend: []string{"Saturday", "Sunday"}}
	for _, c := range []struct {
		name     string
		calendar plan.Calendar
		at       string
		want     string
	}{
		{"no calendar", plan.Calendar{}, "2026-11-28T07:30:59+01:00", "# Time\nYou begin on Saturday 2026-11-28 at 06:30 UTC.\n"},
		{"weekend, by the day in the zone", berlin, "2026-11-27T23:30:00Z",
			"# Time\nYou begin on Saturday 2026-11-28 at 00:30 in Europe/Berlin (UTC+01:00), which is 2026-11-27 23:30 UTC: a weekend.\n"},
		{"first minute of work, in summer", berlin, "2026-07-01T07:00:00Z",
			"# Time\nYou begin on Wednesday 2026-07-01 at 09:00 in Europe/Berlin (UTC+02:00), which is 2026-07-01 07:00 UTC: " +
				"within working hours (09:00-17:00).\n"},
		{"first minute after work", berlin, "2026-07-01T15:00:00Z",
			"# Time\nYou begin on Wednesday 2026-07-01 at 17:00 in Europe/Berlin (UTC+02:00), which is 2026-07-01 15:00 UTC: " +
				"outside working hours (09:00-17:00).\n"},
		{"holiday, with others nearby", berlin, "2026-12-25T12:00:00Z",
			"# Time\nYou begin on Friday 2026-12-25 at 13:00 in Europe/Berlin (UTC+01:00), which is 2026-12-25 12:00 UTC: " +
				"a holiday (Christmas). Holidays around this date: Christmas on Friday 2026-12-25, Closing day on Thursday 2026-12-31.\n"},
		{"holiday of another year", berlin, "2027-12-31T12:00:00Z",
			"# Time\nYou begin on Friday 2027-12-31 at 13:00 in Europe/Berlin (UTC+01:00), which is 2027-12-31 12:00 UTC: " +
				"within working hours (09:00-17:00). Holidays around this date: Christmas on Saturday 2027-12-25.\n"},
		{"hours past midnight", nights, "2026-11-28T05:59:00Z",
			"# Time\nYou begin on Saturday 2026-11-28 at 05:59 UTC: within working hours (22:00-06:00).\n"},
		{"before these", nights, "2026-11-28T21:59:00Z",
			"# Time\nYou begin on Saturday 2026-11-28 at 21:59 UTC: outside working hours (22:00-06:00).\n"},
		{"a night shift of Friday", shifts, "2026-11-28T05:59:00Z",
			"# Time\nYou begin on Saturday 2026-11-28 at 05:59 UTC: within working hours (22:00-06:00).\n"},
		{"after it", shifts, "2026-11-28T06:00:00Z", "# Time\nYou begin on Saturday 2026-11-28 at 06:00 UTC: a weekend.\n"},
		{"no shift of Sunday", shifts, "2026-11-30T05:59:00Z", "# Time\nYou begin on Monday 2026-11-30 at 05:59 UTC: a weekend.\n"},
		{"around the clock", plan.Calendar{Hours: "00:00-00:00"}, "2026-11-28T00:00:00Z",
			"# Time\nYou begin on Saturday 2026-11-28 at 00:00 UTC: within working hours (00:00-00:00).\n"},
		{"a zone that this host does not know", plan.Calendar{Timezone: "Mars/Olympus"}, "2026-11-28T21:59:00Z",
			"# Time\nYou begin on Saturday 2026-11-28 at 21:59 UTC.\n"},
	} {
		at, _ := time.Parse(time.RFC3339, c.at)
		if got := Time(plan.Plan{Calendar: c.calendar}, at); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, c.want)
		}
	}
	at := time.Date(2026, 11, 28, 6, 30, 0, 0, time.UTC)
	const want = "# Time\nThis conversation began on Saturday 2026-11-28 at 06:30 UTC. " +
		"Messages may arrive days later, so do not assume that this is still the current time.\n"
	if got := Time(plan.Plan{Conversation: true}, at); got != want {
		t.Errorf("a conversation:\n%s\nwant:\n%s", got, want)
	}
}

package plan

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// Calendar is when people work. The zero value is UTC without working hours and holidays.
type Calendar struct {
	Timezone string `json:"timezone,omitempty"` // an IANA name; empty means UTC
	// Hours are the working hours, as in 09:00-17:00, of the days that are neither in Weekend nor a holiday. Empty means unknown.
	Hours string `json:"hours,omitempty"`
	// Weekend are days of the week in English, and Holidays are in the order of the configuration.
	Weekend  []string  `json:"weekend,omitempty"`
	Holidays []Holiday `json:"holidays,omitempty"`
}

// Holiday is a day without work.
type Holiday struct {
	Date string `json:"date"` // 12-25, of each year, or 2026-12-25
	Name string `json:"name"`
}

// On reports whether a day is the holiday.
func (h Holiday) On(day time.Time) bool {
	return h.Date == day.Format("01-02") || h.Date == day.Format(time.DateOnly)
}

// Check returns what is wrong with the date; "" if nothing is.
func (h Holiday) Check() string {
	if _, err := time.Parse(time.DateOnly, h.Date); err == nil {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, "2000-"+h.Date); err == nil { // a leap year
		return ""
	}
	return "must be a month and a day, such as 12-25, or a date, such as 2026-12-25"
}

// HoursOf returns the minutes of the day at which working hours, as in 09:00-17:00, begin and end. They may pass midnight, and equal
// times mean around the clock.
func HoursOf(hours string) (from, to int, err error) {
	begin, end, _ := strings.Cut(hours, "-")
	first, err := time.Parse("15:04", strings.TrimSpace(begin))
	last, err2 := time.Parse("15:04", strings.TrimSpace(end))
	if err != nil || err2 != nil {
		return 0, 0, errors.New("two times of day are required, such as 09:00-17:00")
	}
	return minuteOf(first), minuteOf(last), nil
}

// minuteOf returns the minute of the day.
func minuteOf(at time.Time) int { return at.Hour()*60 + at.Minute() }

// IsDay reports whether a name is that of a day of the week in English, whatever its case.
func IsDay(name string) bool {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.EqualFold(name, day.String()) {
			return true
		}
	}
	return false
}

// In returns a time in the calendar's zone. It is in UTC if this program does not know the zone.
func (c Calendar) In(at time.Time) time.Time {
	zone, err := time.LoadLocation(c.Timezone)
	if err != nil {
		zone = time.UTC
	}
	return at.In(zone)
}

// State says what a time is for those who work, and why: "outside working hours (09:00-17:00)". It is empty if the calendar knows nothing
// about the day. A shift that passes midnight belongs to the day on which it begins.
func (c Calendar) State(at time.Time) string {
	at = c.In(at)
	from, to, err := HoursOf(c.Hours)
	now, day := minuteOf(at), at
	if err == nil && from >= to && now < to {
		day = at.AddDate(0, 0, -1)
	}
	for _, h := range c.Holidays {
		if h.On(day) {
			return "a holiday (" + h.Name + ")"
		}
	}
	if slices.ContainsFunc(c.Weekend, func(name string) bool { return strings.EqualFold(name, day.Weekday().String()) }) {
		return "a weekend"
	}
	within := now >= from && now < to
	if from >= to { // with equal times, people work around the clock
		within = now >= from || now < to
	}
	switch {
	case err != nil:
		return ""
	case within:
		return "within working hours (" + c.Hours + ")"
	}
	return "outside working hours (" + c.Hours + ")"
}

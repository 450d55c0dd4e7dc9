package evidence

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// moment is a date, a time of day, or both, with the precision of its text.
type moment struct {
	raw              string
	from, to         int // in the text
	year, month, day int // 0 means not given
	clock            bool
	hour, minute     int
	second           int // -1 means not given
	zoned            bool
	offset           int // minutes east of UTC
}

const zonePattern = `(?:\s?(Z|UTC|GMT|CEST|CET|BST|EDT|EST|CDT|CST|MDT|MST|PDT|PST|[+-]\d{2}:?\d{2})(?:[^\pL\d]|$))?`

var (
	clockTime = regexp.MustCompile(`(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?(?:\s?([aApP])\.?[mM]\.?(?:[^\pL]|$))?` + zonePattern)
	halfDay   = regexp.MustCompile(`(\d{1,2})\s?([aApP])\.?[mM]\b` + zonePattern)
	isoDate   = regexp.MustCompile(`(\d{4})[-/](\d{1,2})[-/](\d{1,2})`)
	dotDate   = regexp.MustCompile(`(\d{1,2})\.(\d{1,2})\.(\d{4})`)
	dayFirst  = regexp.MustCompile(`(\d{1,2})(?:st|nd|rd|th|\.)?[ /-](?:of )?` + monthPattern + `(?:,?[ /-](\d{4}))?`)
	dayLast   = regexp.MustCompile(monthPattern + ` {1,2}(\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4})(?:[^:\d]|$))?`)
	between   = regexp.MustCompile(`^(?:T|[ :,_]|,? at |, )$`) // from a date to its time of day
	toward    = regexp.MustCompile(`^\s?(?:to|and|until|through|-|–|—)\s?$`)
	epoch     = regexp.MustCompile(`\d{10}(?:\d{9}|\d{6}|\d{3})?`)
)

const monthPattern = `(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|` +
	`Nov(?:ember)?|Dec(?:ember)?)\.?`

var zones = map[string]int{
	"Z": 0, "UTC": 0, "GMT": 0, "CET": 60, "CEST": 120, "BST": 60, "EST": -300, "EDT": -240, "CST": -360, "CDT": -300,
	"MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
}

// moments finds the dates and times of day in a text, and combines adjacent ones.
func moments(text string) (all []moment) {
	dates, clocks := datesIn(text), clocksIn(text)
	for n := len(clocks) - 2; n >= 0; n-- { // "14:02 to 14:09 UTC"
		if next := clocks[n+1]; !clocks[n].zoned && next.zoned && toward.MatchString(text[clocks[n].to:next.from]) {
			clocks[n].zoned, clocks[n].offset = true, next.offset
		}
	}
	for _, d := range dates {
		for n, c := range clocks {
			if c.from >= d.to && between.MatchString(text[d.to:c.from]) || c.to <= d.from && toDate.MatchString(text[c.to:d.from]) {
				c.year, c.month, c.day = d.year, d.month, d.day
				c.from, c.to = min(c.from, d.from), max(c.to, d.to)
				d, clocks = c, slices.Delete(slices.Clone(clocks), n, n+1)
				break
			}
		}
		all = append(all, d)
	}
	all = append(all, clocks...)
	slices.SortFunc(all, func(a, b moment) int { return cmp.Compare(a.from, b.from) })
	for n := range all {
		all[n].raw = strings.Trim(text[all[n].from:all[n].to], ` ,.;)"`)
	}
	return all
}

// toDate matches the text between a time of day and its date.
var toDate = regexp.MustCompile(`^(?: on |, | )$`)

func datesIn(text string) (all []moment) {
	for _, form := range []struct {
		is               *regexp.Regexp
		year, month, day int // groups
	}{{isoDate, 1, 2, 3}, {dotDate, 3, 2, 1}, {dayFirst, 3, 2, 1}, {dayLast, 3, 1, 2}} {
		for _, at := range accepted(form.is, text, func(at []int) bool { return beginsAlone(text, at[0]) }) {
			g := groups(text, at)
			m := moment{from: at[0], to: at[1], day: digits(g[form.day]), month: digits(g[form.month]), year: digits(g[form.year])}
			if m.year > 0 {
				m.to = max(at[2*form.year+1], at[2*form.day+1])
			}
			if m.month == 0 && len(g[form.month]) > 2 {
				m.month = 1 + slices.Index(monthNames, g[form.month][:3])
			}
			taken := slices.ContainsFunc(all, func(other moment) bool { return other.from < m.to && m.from < other.to })
			if !taken && alone(text, m.from, m.to) && m.month >= 1 && m.month <= 12 && m.day >= 1 && m.day <= 31 {
				all = append(all, m)
			}
		}
	}
	return all
}

// accepted returns the accepted matches of a form. After a match that is not accepted, the next one may begin within it.
func accepted(form *regexp.Regexp, text string, accept func(at []int) bool) (all [][]int) {
	for from := 0; from < len(text); {
		at := form.FindStringSubmatchIndex(text[from:])
		if at == nil {
			break
		}
		for n := range at {
			if at[n] >= 0 {
				at[n] += from
			}
		}
		if from = at[0] + 1; accept(at) {
			all, from = append(all, at), at[1]
		}
	}
	return all
}

var monthNames = []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}

func clocksIn(text string) (all []moment) {
	add := func(from, to int, hour, minute, second, half, zone string) {
		m := moment{from: from, to: to, clock: true, hour: digits(hour), minute: digits(minute), second: -1}
		if second != "" {
			m.second = digits(second)
		}
		if half != "" {
			m.hour = m.hour%12 + map[bool]int{true: 12}[strings.EqualFold(half, "p")]
		}
		if zone != "" {
			m.zoned, m.offset = true, offsetOf(zone)
		}
		if m.hour < 24 && m.minute < 60 && m.second < 61 {
			all = append(all, m)
		}
	}
	begins := func(at []int) bool { return beginsAlone(text, at[0]) }
	for _, at := range accepted(clockTime, text, begins) {
		g := groups(text, at)
		end := at[5]
		for _, n := range []int{3, 5} { // the end of the last meaningful group
			if at[2*n] >= 0 {
				end = at[2*n+1]
			}
		}
		if end < at[1] && g[5] == "" && g[4] != "" {
			end = at[1]
		}
		if g[5] == "" && g[4] == "" { // fractions of a second
			end = at[1]
		}
		add(at[0], end, g[1], g[2], g[3], g[4], g[5])
	}
	for _, at := range accepted(halfDay, text, begins) {
		if g := groups(text, at); at[0] == 0 || text[at[0]-1] != ':' {
			add(at[0], at[1], g[1], "0", "", g[2], g[3])
		}
	}
	slices.SortFunc(all, func(a, b moment) int { return cmp.Compare(a.from, b.from) })
	return all
}

func groups(text string, at []int) (out []string) {
	for n := 0; n < len(at); n += 2 {
		out = append(out, "")
		if at[n] >= 0 {
			out[n/2] = text[at[n]:at[n+1]]
		}
	}
	return out
}

func digits(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func offsetOf(zone string) int {
	if minutes, ok := zones[zone]; ok {
		return minutes
	}
	clock := strings.ReplaceAll(zone[1:], ":", "")
	minutes := digits(clock[:2])*60 + digits(clock[2:])
	if zone[0] == '-' {
		return -minutes
	}
	return minutes
}

// epochs finds Unix times in a text, in seconds, milliseconds, microseconds or nanoseconds.
func epochs(text string) (all []moment) {
	for _, at := range epoch.FindAllStringIndex(text, -1) {
		whole := text[at[0]:at[1]]
		seconds, _ := strconv.ParseInt(whole[:10], 10, 64)
		if alone(text, at[0], at[1]) && seconds > 9e8 && seconds < 5e9 {
			t := time.Unix(seconds, 0).UTC()
			all = append(all, moment{
				raw: whole, from: at[0], to: at[1], year: t.Year(), month: int(t.Month()), day: t.Day(),
				clock: true, hour: t.Hour(), minute: t.Minute(), second: t.Second(), zoned: true,
			})
		}
	}
	return all
}

// in reports whether a claim's time is among the cited ones, to the minute or second that the claim states. Times with zones are
// compared in UTC. A claim without a zone matches the time as written, or in UTC. A claim with a zone does not match a time
// without one.
func (m moment) in(cited []moment) bool {
	for _, c := range cited {
		switch {
		case m.zoned && c.zoned && m.utc().within(c.utc()):
			return true
		case (!m.zoned || !m.clock) && m.within(c):
			return true
		case (!m.zoned || !m.clock) && c.zoned && m.within(c.utc()):
			return true
		}
	}
	return false
}

// within reports whether c contains everything that m states. Years are compared only if both have one.
func (m moment) within(c moment) bool {
	if m.day > 0 && (m.day != c.day || m.month != c.month || m.year > 0 && c.year > 0 && m.year != c.year) {
		return false
	}
	if !m.clock {
		return true
	}
	return c.clock && m.hour == c.hour && m.minute == c.minute && (m.second < 0 || m.second == c.second)
}

// utc converts a time with a zone to UTC. Without a date, a change of the day is ignored.
func (m moment) utc() moment {
	if !m.clock || !m.zoned || m.offset == 0 {
		return m
	}
	year := m.year
	if year == 0 {
		year = 2024 // any leap year
	}
	t := time.Date(year, time.Month(max(m.month, 1)), max(m.day, 1), m.hour, m.minute-m.offset, 0, 0, time.UTC)
	if m.day > 0 {
		m.month, m.day = int(t.Month()), t.Day()
		if m.year > 0 {
			m.year = t.Year()
		}
	}
	m.hour, m.minute, m.offset = t.Hour(), t.Minute(), 0
	return m
}

package webhook

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// clocks are the layouts of the time of day. time.Parse accepts a fraction after the seconds.
var clocks = []string{"15:04:05", "15:04", "3:04:05PM", "3:04PM"}

// dates are the layouts of dates, without weekdays and commas, and with the first three letters of months.
var dates = []string{
	"2006-1-2", "2006/1/2", "2006.1.2", "20060102", // Zabbix writes dots
	"2 Jan 2006", "Jan 2 2006", // RFC 1123, Site24x7, date(1)
	"2 Jan 06", "2-Jan-2006", "2-Jan-06", "2/Jan/2006", // RFC 822, Oracle, RFC 850, access logs
	"2.1.2006",
	"1/2/2006", "2/1/2006", "1-2-2006", "2-1-2006", "1/2/06", "2/1/06", "06/1/2", // see civil
}

// zones are the abbreviations with one meaning, in hours east of UTC. Others, such as CST (Chicago or Shanghai), BST and IST, have
// several.
var zones = map[string]int{
	"UT": 0, "UTC": 0, "GMT": 0, "COORDINATED UNIVERSAL TIME": 0, "GREENWICH MEAN TIME": 0,
	"WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3,
	"EST": -5, "EDT": -4, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, // RFC 5322, without CST
	"JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}

const (
	zeroTimes = 1971 // the zero times of all systems are before this year
	farFuture = 9999 // alerts begin before this year
	maxTime   = 100  // bytes of a time
)

// moment parses a time in any form that monitoring tools send: RFC 3339, a date and a time of day in any order, or seconds, milliseconds,
// microseconds or nanoseconds since 1970. zone is the zone of a time that has none: an offset, a name such as Europe/Berlin, or an
// abbreviation. An empty zone means UTC. A sender's zero time counts as none.
func moment(said, zone string) (time.Time, error) {
	at, err := instant(said, zone)
	switch {
	case err != nil:
		return time.Time{}, err
	case at.Year() > farFuture:
		return time.Time{}, errTime
	case at.Year() < zeroTimes:
		return time.Time{}, nil
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

var (
	errTime      = errors.New("it cannot be read as a time")
	errZone      = errors.New("its time zone is unknown or has several meanings: send an offset, such as +01:00")
	errAmbiguous = errors.New("its day and month can be read in two ways: send YYYY-MM-DD")
)

func instant(said, zone string) (time.Time, error) {
	if len(said) > maxTime {
		return time.Time{}, errTime
	}
	said = strings.TrimSuffix(strings.TrimPrefix(said, "/Date("), ")/") // JSON of Windows PowerShell
	said = compactMinutes.ReplaceAllString(compact.ReplaceAllString(said, "$1 $2:$3:$4"), "$1 $2:$3")
	if seconds, err := strconv.ParseFloat(said, 64); err == nil {
		if math.IsNaN(seconds) || math.Abs(seconds) > 1e20 {
			return time.Time{}, errTime
		}
		for math.Abs(seconds) > 1e11 { // the year 5138
			seconds /= 1000
		}
		at := time.UnixMicro(int64(seconds * 1e6))
		if seconds > 0 && at.Year() < 2000 { // such as a year, or a date without a time of day
			return time.Time{}, errTime
		}
		return at, nil
	}
	return written(said, zone)
}

var (
	compact        = regexp.MustCompile(`^(\d{8})T?(\d\d)(\d\d)(\d\d(?:\D.*)?)$`)
	compactMinutes = regexp.MustCompile(`^(\d{8})T?(\d\d)(\d\d(?:\D.*)?)$`)
	monotonic      = regexp.MustCompile(` m=[+-][0-9.]+$`) // of Go's Time.String
	glue           = regexp.MustCompile(`(?i)(\d)[T_](\d)|(\d{4}):(\d{2}:)`)
	meridiem       = regexp.MustCompile(`(?i)\b([AP])\.[\s\pZ]?M\b`) // a.m., and in Spanish with a space
	clockWord      = regexp.MustCompile(`(?i)^(\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)([AP]M)?(.*)$`)
	offset         = regexp.MustCompile(`(?i)^(?:Z|(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?Z?)$`) // Python writes +00:00Z
	dayOrYear      = regexp.MustCompile(`(?i)^(\d+)(?:st|nd|rd|th)?$`)
	month          = regexp.MustCompile(`(?i)^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*$`)
	filler         = regexp.MustCompile(`(?i)^(?:-|at|on|the|of|uhr|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)$`)
)

// written parses a date and a time of day in words or digits. It sorts the words into those of the date, the time of day and the zone.
func written(said, zone string) (time.Time, error) {
	said = glue.ReplaceAllString(monotonic.ReplaceAllString(said, ""), "$1$3 $2$4")
	said = meridiem.ReplaceAllString(said, "${1}M")
	var date, names []string
	var clock, shift string
	for _, word := range strings.FieldsFunc(said, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("()[]|@", c) }) {
		word = strings.Trim(word, ",.")
		if parts := clockWord.FindStringSubmatch(word); parts != nil && clock == "" {
			clock, word = parts[1]+strings.ToUpper(parts[2]), parts[3]
		}
		switch digits := dayOrYear.FindStringSubmatch(word); {
		case word == "" || filler.MatchString(word):
		case clock != "" && (strings.EqualFold(word, "AM") || strings.EqualFold(word, "PM")):
			clock += strings.ToUpper(word)
		case clock != "" && offset.MatchString(word):
			if shift == "" {
				shift = word
			}
		case digits != nil:
			date = append(date, digits[1])
		case month.MatchString(word):
			date = append(date, word[:3])
		case word[0] >= '0' && word[0] <= '9':
			date = append(date, word)
		default:
			names = append(names, word)
		}
	}
	day, err := civil(strings.Join(date, " "))
	if err != nil {
		return day, err
	}
	for _, layout := range clocks {
		at, err := time.Parse(layout, clock)
		if err != nil {
			continue
		}
		if shift == "" { // an offset says more than the name beside it
			shift = strings.Join(names, " ")
		}
		if shift == "" {
			shift = zone
		}
		in, err := zoneOf(shift)
		return time.Date(day.Year(), day.Month(), day.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), in), err
	}
	return time.Time{}, errTime
}

// civil parses a date. It refuses one such as 1/2/2026, whose day and month can be read in both orders.
func civil(text string) (day time.Time, err error) {
	err = errTime
	for _, layout := range dates {
		at, wrong := time.Parse(layout, text)
		if wrong != nil {
			continue
		}
		if err == nil && !at.Equal(day) {
			return day, errAmbiguous
		}
		day, err = at, nil
	}
	return day, err
}

// zoneOf returns the zone with an offset, an abbreviation or a name. An empty text means UTC.
func zoneOf(text string) (*time.Location, error) {
	if text == "" {
		return time.UTC, nil
	}
	if parts := offset.FindStringSubmatch(text); parts != nil {
		hours, _ := strconv.Atoi(parts[2]) // the pattern matches only digits
		minutes, _ := strconv.Atoi(parts[3])
		seconds := (hours*60 + minutes) * 60
		if parts[1] == "-" {
			seconds = -seconds
		}
		if hours <= 14 && minutes < 60 {
			return time.FixedZone("", seconds), nil
		}
	}
	if hours, ok := zones[strings.ToUpper(text)]; ok {
		return time.FixedZone(text, hours*60*60), nil
	}
	if strings.Contains(text, "/") {
		if in, err := time.LoadLocation(text); err == nil {
			return in, nil
		}
	}
	return time.UTC, errZone
}

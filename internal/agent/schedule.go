package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Schedule is a Temporal Schedule that starts investigations of the same request. It travels in the request, so that it is described in
// one place.
type Schedule struct {
	// ID tells the schedule from earlier ones of the same name, whose verdicts do not count. It comes first: the store looks for it.
	ID string `json:"id,omitempty"`
	// Name is unique in the project. It has the form of a project's name.
	Name string `json:"name"`
	// Cron are times as in crontab, in Timezone. Every is an interval such as 15m, counted from the Unix epoch. A schedule has one of
	// the two.
	Cron     []string `json:"cron,omitempty"`
	Every    string   `json:"every,omitempty"`
	Timezone string   `json:"timezone,omitempty"` // an IANA name; empty means UTC
	// Check means that the investigations end with a verdict, and that people are told only about a verdict that has changed.
	Check bool `json:"check,omitempty"`
	// MaxCostPerDay is the most that the investigations may cost within 24 hours, in US dollars. Zero means no limit.
	MaxCostPerDay float64 `json:"max_cost_usd_per_day,omitempty"`
}

// MinEvery is the shortest interval of a schedule, and maxCron the most times that it can have.
const (
	MinEvery = time.Minute
	maxCron  = 20
)

// Interval returns Every, or zero if there is none.
func (s Schedule) Interval() time.Duration {
	d, _ := time.ParseDuration(s.Every) // Validate has checked it
	return d
}

// sessionsOfSchedules begins the sessions of schedules. No other request may have such a session.
const sessionsOfSchedules = "schedule/"

// Session is the session of all investigations of the schedule.
func (s Schedule) Session() string { return sessionsOfSchedules + s.Name }

// Mark is a part of each envelope of the schedule's investigations, as JSON.
func (s Schedule) Mark() string {
	if s.ID == "" {
		return `"schedule":{"name":"` + s.Name + `"`
	}
	return `"schedule":{"id":"` + s.ID + `"`
}

// Validate returns all problems with the schedule. Temporal checks the syntax of Cron.
func (s Schedule) Validate() (errs []error) {
	if s.ID != "" && !projectName.MatchString(s.ID) {
		errs = append(errs, fmt.Errorf(`"id" is %.70q: it has 1 to 63 characters (a-z, 0-9, -)`, s.ID))
	}
	if !projectName.MatchString(s.Name) {
		errs = append(errs, fmt.Errorf(`the name of the schedule is %.70q: a name has 1 to 63 characters (a-z, 0-9, -) and does not begin or `+
			`end with -`, s.Name))
	}
	if d, err := time.ParseDuration(s.Every); s.Every != "" && (err != nil || d < MinEvery) {
		errs = append(errs, fmt.Errorf(`"every" is %.50q: use a duration of at least 1m, such as 15m or 24h`, s.Every))
	}
	if (s.Every == "") == (len(s.Cron) == 0) {
		errs = append(errs, errors.New(`a schedule needs either "every" or "cron"`))
	}
	if len(s.Cron) > maxCron {
		errs = append(errs, fmt.Errorf(`"cron" has %d times; the limit is %d`, len(s.Cron), maxCron))
	}
	for _, one := range s.Cron {
		switch {
		case len(strings.Fields(one)) != 5 && !strings.HasPrefix(one, "@"):
			errs = append(errs, fmt.Errorf(`"cron" has %.100q: use five fields (minute hour day month weekday), such as "0 8 * * MON-FRI"`, one))
		case strings.Contains(one, "TZ="), strings.HasPrefix(one, "@every"):
			errs = append(errs, fmt.Errorf(`"cron" has %.100q: use "timezone" and "every" instead`, one))
		}
	}
	if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "Local" {
		errs = append(errs, fmt.Errorf(`"timezone" is %.50q: use a name such as Europe/Berlin or UTC`, s.Timezone))
	}
	if s.MaxCostPerDay < 0 {
		errs = append(errs, errors.New(`"max_cost_usd_per_day" is negative`))
	}
	return errs
}

// Verdict is the result of a check.
type Verdict string

// The verdicts.
const (
	VerdictOK      Verdict = "ok"
	VerdictProblem Verdict = "problem"
	VerdictUnknown Verdict = "unknown" // it could not be examined
)

// Check is what a check has found, and how that differs from the check before.
type Check struct {
	// Changed means that people should know: it is the first check, or the verdict or the set of problems has changed.
	Changed  bool      `json:"changed"`
	Verdict  Verdict   `json:"verdict"`
	Problems []Problem `json:"problems,omitempty"`
	// Error is why the verdict is unknown, unless the agent has decided so.
	Error string `json:"error,omitempty"`
	// Before is the check before; nil means that this is the first. New and Gone are the names of problems that only one of them has.
	Before *EarlierCheck `json:"before,omitempty"`
	New    []string      `json:"new,omitempty"`
	Gone   []string      `json:"gone,omitempty"`
}

// Problem is something that a check found to be wrong. The same problem has the same name in later checks.
type Problem struct {
	Name   string `json:"name"`
	Detail string `json:"detail"`
}

// EarlierCheck is the verdict of an earlier check of the same schedule.
type EarlierCheck struct {
	Investigation string    `json:"investigation"`
	At            time.Time `json:"at"`
	Verdict       Verdict   `json:"verdict"`
	Problems      []string  `json:"problems,omitempty"` // names
}

// Names returns the names of the problems, sorted.
func (c Check) Names() (names []string) {
	for _, p := range c.Problems {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// After compares the check with the one before.
func (c Check) After(before *EarlierCheck) Check {
	c.Before, c.New, c.Gone = before, nil, nil
	if before == nil {
		c.Changed, c.New = true, c.Names()
		return c
	}
	c.Changed = c.Verdict != before.Verdict
	if c.Verdict == VerdictUnknown { // which problems there are is not known either
		return c
	}
	c.New, c.Gone = without(c.Names(), before.Problems), without(before.Problems, c.Names())
	c.Changed = c.Changed || len(c.New)+len(c.Gone) > 0
	return c
}

// without returns the names that no other name equals, except for the case.
func without(names, others []string) (left []string) {
	for _, name := range names {
		if !slices.ContainsFunc(others, func(other string) bool { return strings.EqualFold(name, other) }) {
			left = append(left, name)
		}
	}
	return left
}

// Lines describes the verdict and what has changed, one line each.
func (c Check) Lines() (lines []string) {
	first := "Verdict: " + string(c.Verdict)
	switch {
	case c.Before == nil:
		first += " (first check)"
	case c.Before.Verdict != c.Verdict:
		first += " (was " + string(c.Before.Verdict) + ")"
	case !c.Changed:
		first += " (unchanged)"
	}
	if lines = append(lines, first+"."); c.Error != "" {
		lines = append(lines, "Reason: "+c.Error)
	}
	for _, part := range []struct {
		title string
		names []string
	}{{"New", c.New}, {"Gone", c.Gone}} {
		if len(part.names) > 0 {
			lines = append(lines, part.title+": "+strings.Join(part.names, "; "))
		}
	}
	return lines
}

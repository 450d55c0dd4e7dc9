package notify

import (
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
)

// routed returns the notifications that the routes make of an event, at most one for each channel, and the escalations.
func (o *owner) routed(m record.Notification, e Event) (all []record.Notification) {
	add := func(channel string, escalation int, due time.Time) {
		same := func(other record.Notification) bool {
			return other.Channel == channel && other.Escalation == escalation
		}
		if n := slices.IndexFunc(all, same); n >= 0 {
			if due.Before(all[n].Due) {
				all[n].Due = due
			}
			return
		}
		next := m
		next.Channel, next.Escalation, next.Due, next.Tries = channel, escalation, due, 0
		all = append(all, next)
	}
	for _, r := range o.Settings.Routes {
		if !matches(r, e) {
			continue
		}
		for _, channel := range r.Channels {
			add(channel, 0, quietUntil(r.QuietHours, o.Calendar, m.At))
		}
		if e.Type != TypeWaiting {
			continue
		}
		for n, channel := range r.EscalateTo {
			add(channel, n+1, m.At.Add(time.Duration(n+1)*r.EscalateAfter.D()))
		}
	}
	return all
}

// dueNow is when a notification is due that need not wait.
var dueNow = time.Unix(0, 0)

func matches(r config.NotificationRoute, e Event) bool {
	within := func(list []string, value string) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(one string) bool { return strings.EqualFold(one, value) })
	}
	i := e.Investigation
	return within(r.Events, strings.TrimPrefix(string(e.Type), typePrefix)) &&
		(within(r.Projects, i.Project) || slices.Contains(r.Projects, "*")) && within(r.Chains, i.Chain) && within(r.Severities, i.Severity)
}

// quietUntil returns the end of the quiet hours that a time is in, or else a time in the past, so that the clocks of workers do not
// matter. Quiet hours may pass midnight.
func quietUntil(hours string, calendar plan.Calendar, at time.Time) time.Time {
	from, to, err := plan.HoursOf(hours)
	if err != nil { // there are none
		return dueNow
	}
	local := calendar.In(at)
	now := local.Hour()*60 + local.Minute()
	end := func(days int) time.Time {
		return time.Date(local.Year(), local.Month(), local.Day()+days, to/60, to%60, 0, 0, local.Location())
	}
	switch {
	case from < to && now >= from && now < to, from > to && now < to:
		return end(0)
	case from > to && now >= from:
		return end(1)
	}
	return dueNow
}

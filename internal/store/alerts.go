package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/webhook"
)

const (
	alertBasics  = `id, webhook, project, fingerprint, group_name, title, place, lead, investigation, times, received_at, starts_at, notes, `
	alertColumns = alertBasics + `resolved_at`
	newAlert     = alertBasics + `grp, workflow, request, news`
)

func alertFields(r *webhook.Row) []any {
	return []any{
		&r.ID, &r.Webhook, projectColumn{&r.Project}, textColumn{&r.Fingerprint}, textColumn{&r.Group}, textColumn{&r.Title}, &r.Place,
		&r.Lead, &r.Investigation, &r.Times, timeColumn{&r.ReceivedAt}, endColumn{&r.StartsAt},
		asJSON(&r.Notes),
	}
}

// ReceiveAlerts writes all alerts that a webhook received, or none. A repeated alert updates its row until it fires anew: with
// another start time or, if the sender gives no start time, after it resolved.
func (s alerts) ReceiveAlerts(ctx context.Context, all []webhook.Received) (counts webhook.Counts, err error) {
	all = slices.Clone(all)
	err = s.write(ctx, "", func(q querier) error {
		counts = webhook.Counts{}
		now, err := s.db.clock(ctx, q)
		// Without the lock, two requests with the same alerts in another order could deadlock. Two requests with the same alert and
		// no start time would not see each other's row.
		if err == nil && (len(all) > 1 || len(all) == 1 && all[0].StartsAt.IsZero()) {
			_, err = s.db.lockWindow(ctx, q, alertsWindow, all[0].Webhook)
		}
		for _, a := range all {
			if err == nil {
				err = receiveAlert(ctx, q, a, now, &counts)
			}
		}
		return err
	})
	return counts, doing(err, "write alerts of a webhook")
}

// KnownAlerts reports which of the firing alerts of a webhook are stored already. ReceiveAlerts takes these without a request.
func (s alerts) KnownAlerts(ctx context.Context, all []webhook.Received) (known []bool, err error) {
	known = make([]bool, len(all))
	resolved := map[[2]string]bool{} // earlier in the list: such an alert may fire anew
	err = s.read(ctx, func(q querier) error {
		for n, a := range all {
			a.Project, a.Fingerprint = cmp.Or(a.Project, agent.DefaultProject), storedText(a.Fingerprint)
			key := [2]string{a.Project, a.Fingerprint}
			if a.State == webhook.Resolved {
				resolved[key] = true
			}
			if a.State != webhook.Firing || resolved[key] {
				continue
			}
			// Older versions stored 0 for a start in 1970, which is none.
			err := q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM alerts WHERE webhook = $1 AND project = $2 AND fingerprint = $3
				AND (starts_at = $4 AND $4 <> 0 OR $4 = 0 AND starts_at IS NULL AND resolved_at IS NULL))`,
				a.Webhook, a.Project, a.Fingerprint, startOf(a)).Scan(&known[n])
			if err != nil {
				return err
			}
		}
		return nil
	})
	return known, doing(err, "look up alerts of a webhook")
}

const (
	alertsWindow = "alerts of a webhook"
	maxAlerts    = 1000 // in one list, if the caller sets no limit
)

func receiveAlert(ctx context.Context, q querier, a webhook.Received, now time.Time, counts *webhook.Counts) error {
	a.Project, a.Fingerprint = cmp.Or(a.Project, agent.DefaultProject), storedText(a.Fingerprint)
	switch a.State {
	case webhook.Neither:
		counts.Ignored++
		return nil
	case webhook.Resolved:
		found, err := changed(q.ExecContext(ctx, `UPDATE alerts SET resolved_at = $4,
				place = CASE WHEN place = 'waiting' THEN 'aside' ELSE place END,
				news = CASE WHEN EXISTS (SELECT 1 FROM alerts l WHERE l.id = alerts.lead AND l.ended_at IS NULL) THEN news | 2 ELSE news END
			WHERE webhook = $1 AND project = $2 AND fingerprint = $3 AND resolved_at IS NULL
				AND (starts_at <= $5 OR $5 = 0 OR starts_at IS NULL)`,
			a.Webhook, a.Project, a.Fingerprint, timeColumn{&now}, startOf(a)))
		if found {
			counts.Resolved++
		} else {
			counts.Ignored++
		}
		return err
	}
	begun := strconv.FormatInt(startOf(a), 10)
	row := webhook.Row{
		Webhook: a.Webhook, Project: a.Project, Fingerprint: a.Fingerprint, Group: a.GroupName, Title: a.Title,
		Place: webhook.Waiting, Times: 1, ReceivedAt: now, StartsAt: &a.StartsAt, Notes: a.Notes,
	}
	if a.StartsAt.IsZero() {
		row.StartsAt, begun = nil, rand.Text()
	}
	row.ID = webhook.Key(a.Webhook, a.Project, a.Fingerprint, begun)
	if a.StartsAt.IsZero() { // the alert that is firing, if any
		err := q.QueryRowContext(ctx, `SELECT id FROM alerts WHERE webhook = $1 AND project = $2 AND fingerprint = $3
			AND resolved_at IS NULL AND starts_at IS NULL ORDER BY n LIMIT 1`, a.Webhook, a.Project, a.Fingerprint).Scan(&row.ID)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	// The name differs from that of a deleted row with the same ID, because Temporal may still have that workflow.
	workflow := fmt.Sprintf("%s-%s", a.Workflow, webhook.Key(row.ID, strconv.FormatInt(now.UnixMicro(), 10)))
	group, news := webhook.Key(a.Project, a.Group), 0
	if a.Request != nil {
		added, err := changed(q.ExecContext(ctx, insertInto("alerts", newAlert)+`ON CONFLICT (id) DO NOTHING`,
			append(alertFields(&row), &group, &workflow, textOf(a.Request), &news)...))
		if added {
			counts.New++
		}
		if err != nil || added {
			return err
		}
	}
	counts.Known++
	known, err := changed(q.ExecContext(ctx, `UPDATE alerts SET times = times + 1, seen_at = $2 WHERE id = $1`, row.ID, timeColumn{&now}))
	if err == nil && !known { // it was deleted, or has resolved, since KnownAlerts
		err = fmt.Errorf("%w: an alert changed meanwhile", ErrUnavailable)
	}
	return err
}

// ForgetAlerts deletes a batch of alerts that were last seen before the given time and whose investigation ended before it. Call it
// until it returns 0. Waiting alerts stay, and an alert whose investigation others joined is deleted after those.
func (s alerts) ForgetAlerts(ctx context.Context, before time.Time) (deleted int64, err error) {
	// An alert that is seen again meanwhile stays: PostgreSQL waits for its row and checks the outer condition again.
	const old = `DELETE FROM alerts WHERE received_at < $1 AND seen_at < $1 AND place <> 'waiting' AND n IN (SELECT n FROM alerts
		WHERE received_at < $1 AND seen_at < $1 AND COALESCE(resolved_at, 0) < $1 AND place <> 'waiting' AND news = 0
			AND (place <> 'started' OR ended_at < $1)
			AND NOT EXISTS (SELECT 1 FROM alerts l WHERE l.id = alerts.lead AND l.id <> alerts.id AND (l.ended_at IS NULL OR l.ended_at >= $1))
			AND NOT EXISTS (SELECT 1 FROM alerts j WHERE j.lead = alerts.id AND j.id <> alerts.id)
		ORDER BY received_at LIMIT 500)`
	err = s.write(ctx, "", func(q querier) error {
		done, err := q.ExecContext(ctx, old, timeColumn{&before})
		if err == nil {
			deleted, err = done.RowsAffected()
		}
		return err
	})
	return deleted, doing(err, "delete old alerts")
}

func textOf(raw []byte) string { return storedText(string(raw)) }

// startOf returns when an alert began, in microseconds; 0 if its sender does not say.
func startOf(a webhook.Received) int64 {
	if a.StartsAt.IsZero() {
		return 0
	}
	return a.StartsAt.UnixMicro()
}

// AlertFilter selects alerts. Empty fields select all.
type AlertFilter struct {
	Projects                      []string // nil means all
	Webhook, Place, Investigation string
	Before                        int64 // alerts received before the one with this number; 0 means all
	Limit                         int
}

// Alerts lists the alerts that webhooks received, newest first.
func (s alerts) Alerts(ctx context.Context, f AlertFilter) ([]webhook.Row, error) {
	// Alerts that joined an investigation are found through their lead, the alert that started it.
	query := `SELECT n, ` + alertColumns + ` FROM alerts WHERE $1 IN ('', webhook) AND $2 IN ('', place) AND (n < $3 OR $3 = 0)
		AND (lead IN (SELECT id FROM alerts l WHERE l.investigation = $4) OR $4 = '')`
	args := []any{f.Webhook, f.Place, f.Before, f.Investigation, cmp.Or(f.Limit, maxAlerts)}
	if f.Projects != nil {
		query += ` AND (project = '' OR project IN (SELECT value FROM ` + s.db.each(6) + `))`
		args = append(args, asJSON(&f.Projects))
	}
	fields := func(r *webhook.Row) []any {
		return append(append([]any{&r.N}, alertFields(r)...), endColumn{&r.ResolvedAt})
	}
	all, err := selectAll(ctx, s.db.reader, fields, query+` ORDER BY n DESC LIMIT $5`, args...)
	for n := range all {
		if all[n].Lead == all[n].ID {
			all[n].Lead = ""
		}
	}
	return all, doing(s.db.explain(err), "list alerts")
}

// investigationsOfAlerts returns the query of AlertInvestigations: a project, its fingerprints, and a time.
func investigationsOfAlerts(db engine) string {
	return `SELECT DISTINCT COALESCE(l.investigation, '') FROM alerts a LEFT JOIN alerts l ON l.id = a.lead
		WHERE a.project = $1 AND a.fingerprint IN (SELECT value FROM ` + db.each(2) + `) AND a.received_at >= $3
			AND a.resolved_at IS NULL AND a.place <> 'aside' ORDER BY 1`
}

// AlertInvestigations returns the investigations of a project's firing alerts with these fingerprints that were received since a time,
// including the investigations that alerts joined. waiting means that an alert has none yet.
func (s alerts) AlertInvestigations(ctx context.Context, project string, fingerprints []string, since time.Time) (
	ids []string, waiting bool, err error,
) {
	fingerprints = append([]string{}, fingerprints...) // a list in JSON, and not null
	for n, fingerprint := range fingerprints {
		fingerprints[n] = storedText(fingerprint)
	}
	all, err := selectAll(ctx, s.db.reader, func(id *string) []any { return []any{id} }, investigationsOfAlerts(s.db),
		cmp.Or(project, agent.DefaultProject), asJSON(&fingerprints), timeColumn{&since})
	waiting = len(all) > 0 && all[0] == ""
	if waiting {
		all = all[1:]
	}
	return all, waiting, doing(s.db.explain(err), "look for alerts")
}

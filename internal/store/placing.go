package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/webhook"
)

const (
	placedLately = time.Minute      // window of a limit by the minute, and how long a run may have no record
	newsEvery    = 30 * time.Second // how often an investigation is notified of other alerts
)

// PlaceAlerts assigns waiting alerts to investigations, as far as the limits of their webhooks allow. It returns the same starts
// and news again until AlertStarted and AlertsTold have been called.
func (s alerts) PlaceAlerts(ctx context.Context, limits func(name string) webhook.Limits) (webhook.Placed, error) {
	out := webhook.Placed{Silent: map[string]string{}}
	names, err := selectAll(ctx, s.db.reader, func(name *string) []any { return []any{name} },
		`SELECT DISTINCT webhook FROM alerts WHERE place = 'waiting'
		UNION SELECT DISTINCT webhook FROM alerts WHERE place = 'started' AND ended_at IS NULL`)
	err = s.db.explain(err)
	for _, name := range names {
		if err == nil {
			p := placing{webhook: name, limits: limits(name), out: out}
			if err = s.write(ctx, "", func(q querier) error { return p.place(ctx, s, q) }); err == nil {
				out = p.out
			}
		}
	}
	return out, doing(err, "place alerts")
}

// placing places the alerts of one webhook, in one transaction that has the webhook locked.
type placing struct {
	webhook string
	limits  webhook.Limits
	now     time.Time
	out     webhook.Placed
}

// lead is an alert that has an investigation or will get one.
type lead struct {
	id, group, workflow, investigation, request string
	startedAt                                   time.Time
	sentAt                                      *time.Time
	recorded                                    bool
}

func (p *placing) place(ctx context.Context, s alerts, q querier) error {
	micros, err := s.db.lockWindow(ctx, q, alertsWindow, p.webhook)
	if err != nil {
		return err
	}
	p.now = time.UnixMicro(micros)
	if err := p.recordEnds(ctx, q); err != nil {
		return err
	}
	running, err := p.running(ctx, q)
	if err != nil {
		return err
	}
	waiting, err := p.fill(ctx, q, running)
	if err != nil {
		return err
	}
	if running, err = p.running(ctx, q); err != nil {
		return err
	}
	for _, l := range running {
		switch {
		case l.investigation == "":
			p.out.Starts = append(p.out.Starts, webhook.Start{ID: l.id, Webhook: p.webhook, Workflow: l.workflow, Request: []byte(l.request)})
			continue
		case !l.recorded && p.now.Sub(l.startedAt) > placedLately:
			p.out.Silent[l.id] = l.investigation
		}
		if err := p.news(ctx, q, l); err != nil {
			return err
		}
	}
	if waiting > 0 {
		p.requestPass(placedLately) // in case no event announces room
	}
	return nil
}

// requestPass schedules another pass after at most in.
func (p *placing) requestPass(in time.Duration) {
	if in = max(in, time.Second); p.out.Next == 0 || in < p.out.Next {
		p.out.Next = in
	}
}

// recordEnds records which investigations have ended. Alerts that such an investigation was not told about wait again, unless they have
// resolved.
func (p *placing) recordEnds(ctx context.Context, q querier) error {
	const ended = ` EXISTS (SELECT 1 FROM alerts l WHERE l.id = alerts.lead AND l.ended_at IS NOT NULL)`
	_, err := q.ExecContext(ctx, `UPDATE alerts SET ended_at = $2 WHERE webhook = $1 AND place = 'started' AND ended_at IS NULL AND EXISTS (
		SELECT 1 FROM investigations i WHERE i.id = alerts.investigation AND i.ended_at IS NOT NULL)`, p.webhook, timeColumn{&p.now})
	for _, query := range []string{
		`UPDATE alerts SET place = 'waiting', lead = '', news = 0
			WHERE webhook = $1 AND place = 'joined' AND news <> 0 AND news & 5 <> 0 AND resolved_at IS NULL AND` + ended,
		`UPDATE alerts SET news = 0 WHERE webhook = $1 AND news <> 0 AND` + ended,
		joinSame,
	} {
		if err == nil {
			_, err = q.ExecContext(ctx, query, p.webhook)
		}
	}
	return err
}

const sameRunning = `l.webhook = alerts.webhook AND l.project = alerts.project AND l.fingerprint = alerts.fingerprint
	AND l.place = 'started' AND l.ended_at IS NULL`

// joinSame makes an alert that fires again join the running investigation of the same alert.
const joinSame = `UPDATE alerts SET place = 'joined', news = 1, lead = (SELECT MIN(l.id) FROM alerts l WHERE ` + sameRunning + `)
	WHERE webhook = $1 AND place = 'waiting' AND EXISTS (SELECT 1 FROM alerts l WHERE ` + sameRunning + `)`

func (p *placing) running(ctx context.Context, q querier) ([]lead, error) {
	return selectAll(ctx, q, func(l *lead) []any {
		return []any{&l.id, &l.group, &l.workflow, &l.investigation, &l.request, timeColumn{&l.startedAt}, endColumn{&l.sentAt}, &l.recorded}
	}, `SELECT id, grp, workflow, investigation, CASE WHEN investigation = '' THEN request ELSE '' END, started_at, told_at,
			EXISTS (SELECT 1 FROM investigations i WHERE i.id = alerts.investigation)
		FROM alerts WHERE webhook = $1 AND place = 'started' AND ended_at IS NULL ORDER BY n`, p.webhook)
}

// group is a group's waiting alerts.
type group struct {
	name           string
	waiting, first int64
}

// fill starts an investigation for each alert if there is room for all of them. Otherwise each group shares one investigation: a
// running one or, if there is room, a new one. It returns how many alerts still wait.
func (p *placing) fill(ctx context.Context, q querier, running []lead) (waiting int64, err error) {
	groups, err := selectAll(ctx, q, func(g *group) []any { return []any{&g.name, &g.waiting, &g.first} },
		`SELECT grp, COUNT(*), MIN(n) FROM alerts WHERE webhook = $1 AND place = 'waiting' GROUP BY grp ORDER BY MIN(n)`, p.webhook)
	if err != nil || len(groups) == 0 {
		return 0, err
	}
	for _, g := range groups {
		waiting += g.waiting
	}
	room, err := p.room(ctx, q, len(running))
	if err != nil {
		return 0, err
	}
	if waiting <= room {
		// If an alert has fired several times meanwhile, only the newest one starts.
		const all = `UPDATE alerts SET place = 'started', lead = id, started_at = $2 WHERE webhook = $1 AND place = 'waiting'
			AND n IN (SELECT MAX(n) FROM alerts WHERE webhook = $1 AND place = 'waiting' GROUP BY project, fingerprint)`
		_, err := q.ExecContext(ctx, all, p.webhook, timeColumn{&p.now})
		if err == nil {
			_, err = q.ExecContext(ctx, joinSame, p.webhook)
		}
		return 0, err
	}
	for _, g := range groups {
		var to string
		if n := slices.IndexFunc(running, func(l lead) bool { return l.group == g.name }); n >= 0 {
			to = running[n].id
		} else if room > 0 {
			const first = `UPDATE alerts SET place = 'started', lead = id, started_at = $2
				WHERE webhook = $1 AND place = 'waiting' AND n = $3
				AND NOT EXISTS (SELECT 1 FROM alerts l WHERE ` + sameRunning + `) RETURNING id`
			err := q.QueryRowContext(ctx, first, p.webhook, timeColumn{&p.now}, g.first).Scan(&to)
			if errors.Is(err, sql.ErrNoRows) { // it resolved meanwhile, or joins an investigation that another group started
				p.requestPass(time.Second)
				continue
			} else if err != nil {
				return 0, err
			}
			room--
		}
		if to != "" {
			waiting -= g.waiting
			const join = `UPDATE alerts SET place = 'joined', lead = $3, news = 1 WHERE webhook = $1 AND grp = $2 AND place = 'waiting'`
			if _, err := q.ExecContext(ctx, join, p.webhook, g.name, to); err != nil {
				return 0, err
			}
		}
	}
	return waiting, nil
}

// room returns how many investigations may start now.
func (p *placing) room(ctx context.Context, q querier, running int) (int64, error) {
	var lately int
	var oldest *time.Time
	since := p.now.Add(-placedLately)
	err := q.QueryRowContext(ctx, `SELECT COUNT(*), MIN(started_at) FROM alerts WHERE webhook = $1 AND place = 'started' AND started_at > $2`,
		p.webhook, timeColumn{&since}).Scan(&lately, endColumn{&oldest})
	if err != nil {
		return 0, err
	}
	byMinute := p.limits.PerMinute - lately
	if byMinute <= 0 && oldest != nil {
		p.requestPass(oldest.Sub(since))
	}
	return int64(max(0, min(p.limits.Running-running, byMinute))), nil
}

// news prepares the notification that an investigation should get now. A pending notification stays unchanged until it has been
// delivered.
func (p *placing) news(ctx context.Context, q querier, l lead) error {
	n := webhook.News{Lead: l.id, Webhook: p.webhook, Investigation: l.investigation}
	if l.sentAt != nil {
		n.ToldAt = *l.sentAt
	}
	var later int
	const count = `SELECT COALESCE(SUM(CASE WHEN news & 3 <> 0 THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN news & 4 <> 0 THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN news & 8 <> 0 THEN 1 ELSE 0 END), 0) FROM alerts WHERE lead = $1 AND news <> 0`
	read := func() error { return q.QueryRowContext(ctx, count, l.id).Scan(&later, &n.Joined, &n.Resolved) }
	if err := read(); err != nil {
		return err
	}
	if later > 0 && n.Joined+n.Resolved == 0 {
		if wait := newsEvery - sinceSent(l, p.now); wait > 0 {
			p.requestPass(wait)
			return nil
		}
		if _, err := q.ExecContext(ctx, `UPDATE alerts SET news = (news & 3) * 4 WHERE lead = $1 AND news & 3 <> 0`, l.id); err != nil {
			return err
		}
		if err := read(); err != nil {
			return err
		}
	}
	if n.Joined+n.Resolved == 0 {
		return nil
	}
	var err error
	n.Alerts, err = selectAll(ctx, q, func(a *webhook.NewsOf) []any { return []any{&a.Title, &a.What} },
		`SELECT title, (news & 12) / 4 FROM alerts WHERE lead = $1 AND news & 12 <> 0 ORDER BY n LIMIT `+fmt.Sprint(webhook.MaxTold), l.id)
	p.out.News = append(p.out.News, n)
	return err
}

func sinceSent(l lead, now time.Time) time.Duration {
	if l.sentAt == nil {
		return newsEvery
	}
	return now.Sub(*l.sentAt)
}

// AlertStarted records the investigation of an alert.
func (s alerts) AlertStarted(ctx context.Context, id, investigation string) error {
	return s.changeAlert(ctx, `UPDATE alerts SET investigation = $2 WHERE id = $1`, id, investigation)
}

// AlertEnded records that an alert's investigation has ended, although its record does not say so.
func (s alerts) AlertEnded(ctx context.Context, id string) error {
	now := s.Now(ctx)
	return s.changeAlert(ctx, `UPDATE alerts SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL`, id, timeColumn{&now})
}

// AlertsTold records that an investigation has received its pending notification.
func (s alerts) AlertsTold(ctx context.Context, lead string) error {
	err := s.write(ctx, "", func(q querier) error {
		if _, err := q.ExecContext(ctx, `UPDATE alerts SET news = news & 3 WHERE lead = $1 AND news & 12 <> 0`, lead); err != nil {
			return err
		}
		now, err := s.db.clock(ctx, q)
		if err == nil {
			_, err = q.ExecContext(ctx, `UPDATE alerts SET told_at = $2 WHERE id = $1`, lead, timeColumn{&now})
		}
		return err
	})
	return doing(err, "record the notification about alert %s", lead)
}

// AlertsUnread marks joined alerts as unread, because it is unknown which were read. Call it before the investigation ends, so that
// recordEnds queues them again.
func (s alerts) AlertsUnread(ctx context.Context, investigation string) error {
	return s.changeAlert(ctx, `UPDATE alerts SET news = 1 WHERE place = 'joined' AND resolved_at IS NULL AND news = 0
		AND lead IN (SELECT l.id FROM alerts l WHERE l.investigation = $1)`, investigation)
}

func (s alerts) changeAlert(ctx context.Context, query, id string, args ...any) error {
	err := s.write(ctx, "", func(q querier) error {
		_, err := q.ExecContext(ctx, query, append([]any{id}, args...)...)
		return err
	})
	return doing(err, "write alert %s", id)
}

// AlertsWait reports whether any alert waits for a place, for its investigation to start, or for agents to be notified. With an
// investigation, it reports whether an alert started that investigation.
func (s alerts) AlertsWait(ctx context.Context, investigation string) (wait bool, err error) {
	if investigation == "" {
		const query = `SELECT EXISTS (SELECT 1 FROM alerts WHERE place = 'waiting')
			OR EXISTS (SELECT 1 FROM alerts WHERE place = 'started' AND ended_at IS NULL AND investigation = '')
			OR EXISTS (SELECT 1 FROM alerts JOIN alerts l ON l.id = alerts.lead WHERE alerts.news <> 0 AND l.ended_at IS NULL)`
		err = s.db.reader.QueryRowContext(ctx, query).Scan(&wait)
	} else {
		const query = `SELECT EXISTS (SELECT 1 FROM alerts WHERE investigation = $1)`
		err = s.db.reader.QueryRowContext(ctx, query, investigation).Scan(&wait)
	}
	return wait, doing(s.db.explain(err), "check for waiting alerts")
}

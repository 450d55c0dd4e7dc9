package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/inquest-dev/inquest/internal/audit"
)

const auditColumns = `investigation, n, at, what, who, channel, execution, call, tool, detail, key, hash`

func actFields(a *audit.Act) []any {
	return []any{
		&a.Investigation, &a.N, timeColumn{&a.At}, &a.What, textColumn{&a.Who}, textColumn{&a.Channel}, textColumn{&a.Execution},
		textColumn{&a.Call}, textColumn{&a.Tool}, rawColumn{&a.Detail}, textColumn{&a.Key}, &a.Hash,
	}
}

// Audit adds acts of one investigation that accompany no other write. An act whose key is already in the chain stays unchanged.
func (s *Store) Audit(ctx context.Context, acts ...audit.Act) error {
	if len(acts) == 0 {
		return nil
	}
	err := s.write(ctx, acts[0].Investigation, func(q querier) error { return s.addActs(ctx, q, acts) })
	return doing(err, "write the audit trail of %s", cmp.Or(acts[0].Investigation, "the store"))
}

// addActs adds acts to one chain, in the transaction of the write that they record. That transaction must hold the investigation's
// lock; for the store's own chain, addActs takes a lock. A transaction adds to one chain only: with two chains, two transactions
// could deadlock.
func (s *Store) addActs(ctx context.Context, q querier, acts []audit.Act) error {
	if len(acts) == 0 {
		return nil
	}
	chain := acts[0].Investigation
	if chain == "" {
		if _, err := s.db.lockWindow(ctx, q, "", "audit"); err != nil {
			return err
		}
	}
	head := audit.Mark{Investigation: chain}
	err := q.QueryRowContext(ctx, `SELECT n, hash FROM audit_heads WHERE investigation = $1`, chain).Scan(&head.N, &head.Hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	before := head.N
	for _, act := range acts {
		if act.Investigation != chain {
			return fmt.Errorf("acts of %q and %q are of two chains", chain, act.Investigation)
		}
		told, err := isTold(ctx, q, act)
		if err != nil {
			return err
		}
		if told {
			continue
		}
		act = storedAct(act)
		act.N = head.N + 1
		act.Hash = act.Sum(head.Hash)
		if _, err := q.ExecContext(ctx, insertInto("audit", auditColumns), actFields(&act)...); err != nil {
			return err
		}
		head.N, head.Hash = act.N, act.Hash
	}
	if head.N == before {
		return nil
	}
	_, err = q.ExecContext(ctx, insertInto("audit_heads", "investigation, n, hash, anchored")+`ON CONFLICT (investigation) `+
		overwrite("n, hash"), chain, head.N, head.Hash, 0)
	return err
}

func isTold(ctx context.Context, q querier, act audit.Act) (told bool, err error) {
	if act.Key == "" {
		return false, nil
	}
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM audit WHERE investigation = $1 AND key = $2 AND key <> '')`,
		act.Investigation, storedText(act.Key)).Scan(&told)
	return told, err
}

// storedAct returns an act as it will be read back, because its hash is computed from that form.
func storedAct(a audit.Act) audit.Act {
	for _, text := range []*string{&a.Who, &a.Channel, &a.Execution, &a.Call, &a.Tool, &a.Key} {
		*text = storedText(*text)
	}
	if a.At.IsZero() {
		a.At = time.Now()
	}
	a.At = storedTime(a.At)
	if len(a.Detail) == 0 {
		a.Detail = json.RawMessage("{}")
	}
	return a
}

// rawColumn keeps JSON byte for byte.
type rawColumn struct{ to *json.RawMessage }

func (c rawColumn) Value() (driver.Value, error) { return string(*c.to), nil }

func (c rawColumn) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("JSON column holds %T", src)
	}
	*c.to = json.RawMessage(text)
	return nil
}

// ActFilter selects acts. Zero values do not filter.
type ActFilter struct {
	Investigation string // ID of the investigation
	Since         time.Time
	Who, Tool     string
	// Project selects acts about a project's investigations, virtual agents and rules. The store knows no project for
	// conversations.
	Project string
	// Limit bounds the acts of one investigation, in chain order and after number After; 0 means all.
	Limit int
	After int64
}

// Acts calls fn with each selected act, ordered by time, and by number within a chain.
func (s *Store) Acts(ctx context.Context, f ActFilter, fn func(audit.Act) error) error {
	query, args := `SELECT `+auditColumns+` FROM audit WHERE at >= $1`, []any{timeColumn{&f.Since}}
	for _, is := range [][2]string{{"investigation", f.Investigation}, {"who", f.Who}, {"tool", f.Tool}} {
		if is[1] != "" {
			args = append(args, is[1])
			query += fmt.Sprintf(" AND %s = $%d", is[0], len(args))
		}
	}
	if f.Project != "" {
		args = append(args, f.Project, fmt.Sprintf(`"project":"%s"`, f.Project)) // quotes in JSON strings are escaped
		query += fmt.Sprintf(` AND (investigation IN (SELECT id FROM investigations WHERE project = $%d)
			OR investigation = '' AND replace(detail, $%d, '') <> detail)`, len(args)-1, len(args))
	}
	order := ` ORDER BY at, investigation, n`
	if f.Limit > 0 {
		args = append(args, f.After, f.Limit)
		order = fmt.Sprintf(" AND n > $%d ORDER BY n LIMIT $%d", len(args)-1, len(args))
	}
	rows, err := s.db.reader.QueryContext(ctx, query+order, args...)
	if err == nil {
		err = eachAct(rows, fn)
	}
	return doing(s.db.explain(err), "read the audit trail")
}

func eachAct(rows *sql.Rows, fn func(audit.Act) error) error {
	defer rows.Close()
	for rows.Next() {
		var act audit.Act
		if err := rows.Scan(actFields(&act)...); err != nil {
			return err
		}
		if err := fn(act); err != nil {
			return err
		}
	}
	return rows.Err()
}

// marksOfAnchor is the maximum number of chains that one anchor marks.
const marksOfAnchor = 500

// Anchor records the current end of all chains if some have grown since the last anchor. It returns the last anchor, or the zero
// value if nothing was ever written.
func (s *Store) Anchor(ctx context.Context) (last audit.Anchor, err error) {
	for grown := true; grown && err == nil; {
		err = s.write(ctx, "", func(q querier) (err error) {
			last, grown, err = s.anchor(ctx, q)
			return err
		})
	}
	return last, doing(err, "anchor the audit trail")
}

func (s *Store) anchor(ctx context.Context, q querier) (last audit.Anchor, grown bool, err error) {
	if _, err := s.db.lockWindow(ctx, q, "", "audit anchors"); err != nil {
		return last, false, err
	}
	const newest = `SELECT n, at, marks, hash FROM audit_anchors ORDER BY n DESC LIMIT 1`
	err = q.QueryRowContext(ctx, newest).Scan(anchorFields(&last)...)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return last, false, err
	}
	marks, err := selectAll(ctx, q, markFields, `SELECT investigation, n, hash FROM audit_heads WHERE anchored < n
		ORDER BY investigation`+limitTo(marksOfAnchor))
	if err != nil || len(marks) == 0 {
		return last, false, err
	}
	next := audit.Anchor{N: last.N + 1, At: storedTime(time.Now())}
	if next.Marks, err = json.Marshal(marks); err != nil {
		return last, false, err
	}
	next.Hash = next.Sum(last.Hash)
	if _, err := q.ExecContext(ctx, insertInto("audit_anchors", "n, at, marks, hash"), anchorFields(&next)...); err != nil {
		return last, false, err
	}
	for _, mark := range marks {
		const query = `UPDATE audit_heads SET anchored = $2 WHERE investigation = $1`
		if _, err := q.ExecContext(ctx, query, mark.Investigation, mark.N); err != nil {
			return last, false, err
		}
	}
	return next, len(marks) == marksOfAnchor, nil
}

func anchorFields(a *audit.Anchor) []any {
	return []any{&a.N, timeColumn{&a.At}, rawColumn{&a.Marks}, &a.Hash}
}

func markFields(m *audit.Mark) []any { return []any{&m.Investigation, &m.N, &m.Hash} }

// VerifyAudit checks one snapshot of the whole audit trail. If head is set, the hash of an anchor that was noted elsewhere, an
// anchor with that hash must exist.
func (s *Store) VerifyAudit(ctx context.Context, head string) (found audit.Verdict, err error) {
	err = s.read(ctx, func(q querier) error {
		found, err = verifyAudit(ctx, q, head)
		return err
	})
	return found, doing(err, "verify the audit trail")
}

func verifyAudit(ctx context.Context, q querier, head string) (found audit.Verdict, err error) {
	anchors, err := selectAll(ctx, q, anchorFields, `SELECT n, at, marks, hash FROM audit_anchors ORDER BY n`)
	if err != nil {
		return found, err
	}
	heads, err := selectAll(ctx, q, markFields, `SELECT investigation, n, hash FROM audit_heads`)
	if err != nil {
		return found, err
	}
	v := audit.NewVerification(head)
	v.Ends(anchors, heads)
	rows, err := q.QueryContext(ctx, `SELECT `+auditColumns+` FROM audit ORDER BY investigation, n`)
	if err == nil {
		err = eachAct(rows, v.Act)
	}
	if errors.Is(err, audit.ErrFault) {
		err = nil
	}
	return v.Verdict(), err
}

package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

const auditColumns = `investigation, n, at, what, who, channel, execution, call, tool, detail, key, hash`

func actFields(a *audit.Act) []any {
	return []any{
		&a.Investigation, &a.N, timeColumn{&a.At}, &a.What, textColumn{&a.Who}, textColumn{&a.Channel}, textColumn{&a.Execution},
		textColumn{&a.Call}, textColumn{&a.Tool}, rawColumn{&a.Detail}, textColumn{&a.Key}, &a.Hash,
	}
}

// Audit adds acts of one investigation that accompany no other write. An act whose key is already in the chain stays unchanged.
func (s audits) Audit(ctx context.Context, acts ...audit.Act) error {
	if len(acts) == 0 {
		return nil
	}
	err := s.write(ctx, acts[0].Investigation, func(q querier) error { return s.addActs(ctx, q, acts) })
	return doing(err, "write the audit trail of %s", cmp.Or(acts[0].Investigation, "the store"))
}

// addActs adds acts to one chain, in the transaction of the write that they record. That transaction must hold the investigation's
// lock; for the store's own chain, addActs takes a lock. A transaction adds to one chain only: with two chains, two transactions
// could deadlock.
func (s *base) addActs(ctx context.Context, q querier, acts []audit.Act) error {
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
			return fmt.Errorf("acts of %q and %q belong to different chains", chain, act.Investigation)
		}
		recorded, err := isRecorded(ctx, q, act)
		if err != nil {
			return err
		}
		if recorded {
			continue
		}
		act = storedAct(act)
		act.N = head.N + 1
		act.Hash = act.Sum(head.Hash)
		if _, err := q.ExecContext(ctx, insertInto("audit", auditColumns), actFields(&act)...); err != nil {
			return err
		}
		if err := notify(ctx, q, act); err != nil {
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

func isRecorded(ctx context.Context, q querier, act audit.Act) (recorded bool, err error) {
	if act.Key == "" {
		return false, nil
	}
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM audit WHERE investigation = $1 AND key = $2 AND key <> '')`,
		act.Investigation, storedText(act.Key)).Scan(&recorded)
	return recorded, err
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

// Acts calls fn with each selected act, ordered by time, and by number within a chain.
func (s audits) Acts(ctx context.Context, f ActFilter, fn func(audit.Act) error) error {
	query, args := `SELECT `+auditColumns+` FROM audit WHERE at >= $1`, []any{timeColumn{&f.Since}}
	for _, is := range [][2]string{{"investigation", f.Investigation}, {"who", f.Who}, {"tool", f.Tool}, {"what", string(f.What)}} {
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
func (s audits) Anchor(ctx context.Context) (last audit.Anchor, err error) {
	for grown := true; grown && err == nil; {
		err = s.write(ctx, "", func(q querier) (err error) {
			last, grown, err = s.anchor(ctx, q)
			return err
		})
	}
	return last, doing(err, "anchor the audit trail")
}

func (s audits) anchor(ctx context.Context, q querier) (last audit.Anchor, grown bool, err error) {
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
func (s audits) VerifyAudit(ctx context.Context, head string) (found audit.Verdict, err error) {
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

// Acts that follow from another write are added to the audit trail in the same transaction. A repeated step would write them again,
// so each act has a key. Acts of transcript rows have none, because those rows are written only once.

// actsOf returns the acts of a transcript row.
func actsOf(e transcript.Entry, acts []audit.Act) (out []audit.Act) {
	if len(acts) == 0 {
		acts = decidedByWords(e)
	}
	for _, act := range acts {
		act.Investigation, act.Execution = e.Investigation, cmp.Or(act.Execution, e.Execution)
		if act.At.IsZero() {
			act.At = e.At
		}
		out = append(out, act)
	}
	return out
}

// decidedByWords returns the act of a call whose decision and result are in a single row, such as a memory tool's call; nil for any
// other row.
func decidedByWords(e transcript.Entry) []audit.Act {
	if e.Kind != transcript.KindResult || e.Decision == "" || e.Call == nil {
		return nil
	}
	return []audit.Act{{
		What: audit.Executed, Call: e.Call.ID, Tool: e.Call.Name,
		Detail: audit.Detail("decision", e.Decision, "digest", e.Digest, "status", e.Status, "error_type", e.ErrorType),
	}}
}

func startedAct(r record.Investigation) audit.Act {
	return audit.Act{
		Investigation: r.ID, At: r.StartedAt, What: audit.Started, Who: r.Envelope.By, Key: "started " + r.Writer,
		Detail: audit.Detail("workflow", r.WorkflowID, "chain", r.Chain, "alert_type", r.AlertType, "project", r.Project,
			"plan", r.PlanHash, "data", r.DataHash),
	}
}

func resetAct(investigation, run string) audit.Act {
	return audit.Act{Investigation: investigation, What: audit.Reset, Detail: audit.Detail("run", run), Key: "reset " + run}
}

func endedAct(r record.Investigation) audit.Act {
	at := time.Now()
	if r.EndedAt != nil {
		at = *r.EndedAt
	}
	return audit.Act{
		Investigation: r.ID, At: at, What: audit.Ended, Key: fmt.Sprintf("ended %s %s", r.Writer, r.Status),
		Detail: audit.Detail("status", string(r.Status), "reason", string(r.EndReason), "error", r.Error),
	}
}

// askedActs returns the acts for the approvals and questions that are currently waiting for people.
func askedActs(w record.Waiting) (out []audit.Act) {
	for _, a := range w.Approvals {
		out = append(out, audit.Act{
			Investigation: w.Investigation, What: audit.Asked, Execution: a.Execution, Call: a.CallID, Tool: a.Tool,
			// A change of the approvers, or one more of several approvals, makes it a new act.
			Key: fmt.Sprintf("asked %s %s %s %q %q %d", w.RunID, a.Name(), a.Digest, a.Approvers, a.ApprovedBy, len(a.Notes)),
			Detail: audit.Detail("digest", a.Digest, "risk", string(a.Risk), "arguments", a.Arguments, "arguments_ref", a.ArgumentsRef,
				"approvers", strings.Join(a.Approvers, ", "), "approved_by", strings.Join(a.ApprovedBy, ", "), "notes", strings.Join(a.Notes, "\n")),
		})
	}
	for _, q := range w.Questions {
		out = append(out, audit.Act{
			Investigation: w.Investigation, What: audit.Asked, Call: q.ID, Key: fmt.Sprintf("asked %s %s", w.RunID, q.ID),
			Detail: audit.Detail("kind", q.Kind, "stage", q.Stage, "question", q.Question, "data", string(q.Data)),
		})
	}
	return out
}

// guidedAct returns the act of a letter sent to the given stages.
func guidedAct(l transcript.Letter, stages []string) audit.Act {
	return audit.Act{
		Investigation: l.Investigation, At: l.At, What: audit.Guided, Who: l.By,
		Key:    fmt.Sprintf("guided %s %s %d", l.RunID, l.Source, l.Ordinal),
		Detail: audit.Detail("from", l.Source, "agent", l.Agent, "stage", strings.Join(stages, ", "), "text", l.Text),
	}
}

package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const mailColumns = `investigation, seq, source, ordinal, run_id, agent, stage, author, text, at`

func mailFields(l *transcript.Letter) []any {
	return []any{
		&l.Investigation, &l.Seq, &l.Source, &l.Ordinal, &l.RunID, &l.Agent, &l.Stage, textColumn{&l.By}, textColumn{&l.Text}, timeColumn{&l.At},
	}
}

// Conditions on a row of mail, of the investigation $1.
const (
	quoted = `SELECT 1 FROM readings JOIN entries ON entries.investigation = readings.investigation AND entries.seq = entry
		WHERE readings.investigation = mail.investigation AND mail = mail.seq AND entries.superseded = 0`
	isRead = `EXISTS (` + quoted + `)`
)

// isUnread is the condition that the execution $2 may read the letter and has not. $n and $n+1 are its reader.
func isUnread(n int) string {
	return fmt.Sprintf(`investigation = $1 AND superseded = 0 AND stage IN ('', $%d) AND agent IN ('', $%d)
		AND NOT EXISTS (%s AND entries.execution = $2)`, n, n+1, quoted)
}

func countUnread(n int) string { return `(SELECT COUNT(*) FROM mail WHERE ` + isUnread(n) + `)` }

// reader returns an execution's stage and agent.
func reader(execution string) []any {
	stage, agent, _ := strings.Cut(execution, "/") // a sub-agent's name begins with that of the agent that dispatched it
	return []any{stage, agent}
}

// Post puts a letter into an investigation's mail, once for its source, run and ordinal. Each given stage that has not ended gets a
// copy; if there is none, the first stage that reads the letter gets it. Letters that another run of the source posted at the
// ordinal or after it are superseded, because Temporal was reset and the new run posts them again. A run that was replaced gets
// ErrStaleRun.
func (s *Store) Post(ctx context.Context, letter transcript.Letter, stages []string) error {
	err := s.write(ctx, letter.Investigation, func(q querier) error {
		posted, err := takeOver(ctx, q, letter)
		if err != nil || posted {
			return err
		}
		ended, err := selectAll(ctx, q, func(name *string) []any { return []any{name} },
			`SELECT name FROM stages WHERE investigation = $1 AND ended_at IS NOT NULL`, letter.Investigation)
		if err != nil {
			return err
		}
		stages = slices.DeleteFunc(slices.Clone(stages), func(name string) bool { return slices.Contains(ended, name) })
		if len(stages) == 0 {
			stages = []string{""}
		}
		for _, letter.Stage = range stages {
			if err := insertMail(ctx, q, letter); err != nil {
				return err
			}
		}
		return s.addActs(ctx, q, []audit.Act{guidedAct(letter, stages)})
	})
	return doing(err, "post letter %d of %s, %q", letter.Ordinal, letter.Investigation, letter.Source)
}

// takeOver makes the letter's run the newest one of its source, and supersedes the letters of other runs at its ordinal or after
// it. posted means that the run has posted this letter before.
func takeOver(ctx context.Context, q querier, l transcript.Letter) (posted bool, err error) {
	c := claim{Scope: transcript.Scope{Investigation: l.Investigation, Execution: l.Source}, run: l.RunID}
	const query = `SELECT EXISTS (SELECT 1 FROM runs WHERE investigation = $1 AND execution = $2 AND run_id = $3), ` + isNewest + `,
		EXISTS (SELECT 1 FROM mail WHERE investigation = $1 AND source = $2 AND run_id = $3 AND ordinal = $4)`
	var st standing
	err = q.QueryRowContext(ctx, query, l.Investigation, l.Source, l.RunID, l.Ordinal).Scan(&st.known, &st.newest, &posted)
	switch {
	case err != nil || posted:
		return posted, err
	case st.stale():
		return false, ErrStaleRun
	case !st.known:
		if err := c.register(ctx, q); err != nil {
			return false, err
		}
	}
	_, err = q.ExecContext(ctx, `UPDATE mail SET superseded = 1 WHERE investigation = $1 AND source = $2 AND run_id <> $3 AND ordinal >= $4
		AND superseded = 0`, l.Investigation, l.Source, l.RunID, l.Ordinal)
	return false, err
}

func insertMail(ctx context.Context, q querier, l transcript.Letter) error {
	err := q.QueryRowContext(ctx, `SELECT COALESCE(MAX(seq), 0) + 1 FROM mail WHERE investigation = $1`, l.Investigation).Scan(&l.Seq)
	if err == nil {
		_, err = q.ExecContext(ctx, insertInto("mail", mailColumns+", superseded"), append(mailFields(&l), 0)...)
	}
	return err
}

// maxMail is the maximum size of the letters for one model call, in bytes. At least one letter is always read.
const maxMail = 64 << 10

// TakeMail returns the letters that an execution may read and has not, in order, and reserves them for its stage. Letters that do
// not fit into one model call stay unread.
func (s *Store) TakeMail(ctx context.Context, scope transcript.Scope) (letters []transcript.Letter, err error) {
	who := reader(scope.Execution)
	err = s.write(ctx, scope.Investigation, func(q querier) error {
		const keep = `UPDATE mail SET stage = $2 WHERE investigation = $1 AND superseded = 0 AND stage = '' AND agent IN ('', $3)`
		if _, err := q.ExecContext(ctx, keep, append([]any{scope.Investigation}, who...)...); err != nil {
			return err
		}
		letters, err = selectAll(ctx, q, mailFields, `SELECT `+mailColumns+` FROM mail WHERE `+isUnread(3)+` ORDER BY seq`,
			append([]any{scope.Investigation, scope.Execution}, who...)...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("take the mail of %s, %s: %w", scope.Investigation, scope.Execution, err)
	}
	size := 0
	for n, l := range letters {
		if size += len(l.Text); size > maxMail && n > 0 {
			return letters[:n], nil
		}
	}
	return letters, nil
}

// freeMail releases the unread letters of a stage that has ended. Stages with their own copy keep that; if there is none, the
// letter goes to the first stage that reads it.
func freeMail(ctx context.Context, q querier, investigation, stage string) error {
	const left = ` WHERE investigation = $1 AND stage = $2 AND superseded = 0 AND NOT ` + isRead
	for _, query := range []string{
		`UPDATE mail SET superseded = 1` + left + ` AND EXISTS (
			SELECT 1 FROM mail AS other WHERE other.investigation = $1 AND other.superseded = 0
			AND other.source = mail.source AND other.ordinal = mail.ordinal AND other.seq <> mail.seq)`,
		`UPDATE mail SET stage = ''` + left,
	} {
		if _, err := q.ExecContext(ctx, query, investigation, stage); err != nil {
			return err
		}
	}
	return nil
}

// Unread returns the unread letters of an investigation, in order.
func (s *Store) Unread(ctx context.Context, investigation string) (unread []transcript.Letter, err error) {
	type row struct {
		transcript.Letter
		read bool
	}
	rows, err := selectAll(ctx, s.db.reader, func(r *row) []any { return append(mailFields(&r.Letter), &r.read) },
		`SELECT `+mailColumns+`, `+isRead+` FROM mail WHERE investigation = $1 AND superseded = 0 ORDER BY seq`, investigation)
	if err != nil {
		return nil, fmt.Errorf("read the mail of %s: %w", investigation, s.db.explain(err))
	}
	for n, r := range rows {
		settled := func(o row) bool { return o.Source == r.Source && o.Ordinal == r.Ordinal && (o.read || o.Seq < r.Seq) }
		if !slices.ContainsFunc(rows, settled) {
			unread = append(unread, rows[n].Letter)
		}
	}
	return unread, nil
}

package store

import (
	"context"

	"github.com/inquest-dev/inquest/internal/transcript"
)

const liveColumns = `investigation, execution, iteration, attempt, text, thinking`

func liveFields(l *transcript.Live) []any {
	return []any{&l.Investigation, &l.Execution, &l.Iteration, &l.Attempt, textColumn{&l.Text}, textColumn{&l.Thinking}}
}

// SetLive replaces the live tail of an execution. It is ignored if it comes too late: from an earlier attempt than the stored one,
// or after the reply.
func (s *Store) SetLive(ctx context.Context, live transcript.Live) error {
	const query = `INSERT INTO live (` + liveColumns + `) SELECT $1, $2, $3, $4, $5, $6
		WHERE NOT EXISTS (SELECT 1 FROM entries WHERE superseded = 0 AND investigation = $1 AND execution = $2
			AND iteration >= $3 AND kind = '` + string(transcript.KindReply) + `')
		ON CONFLICT (investigation, execution) ` +
		`DO UPDATE SET iteration = excluded.iteration, attempt = excluded.attempt, text = excluded.text, thinking = excluded.thinking
		WHERE (excluded.iteration, excluded.attempt) >= (live.iteration, live.attempt)`
	err := s.write(ctx, live.Investigation, func(q querier) error {
		did, err := changed(q.ExecContext(ctx, query, liveFields(&live)...))
		if err != nil || !did {
			return err
		}
		return raise(ctx, q, live.Investigation, cursor{live: 1})
	})
	return doing(err, "write live tail of %s, %s", live.Investigation, live.Execution)
}

// HasLive reports whether that attempt at a reply, or a later one, has a live tail.
func (s *Store) HasLive(ctx context.Context, live transcript.Live) (asked bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM live WHERE investigation = $1 AND execution = $2 AND iteration = $3 AND attempt >= $4)`
	err = s.db.reader.QueryRowContext(ctx, query, live.Investigation, live.Execution, live.Iteration, live.Attempt).Scan(&asked)
	return asked, doing(s.db.explain(err), "read live tail of %s, %s", live.Investigation, live.Execution)
}

// dropLive ends the live tail of an execution, and notifies followers if there was one. It does not query for it first, because on
// PostgreSQL it would have to wait for the answer.
func dropLive(ctx context.Context, q querier, scope transcript.Scope) error {
	const (
		ofScope = ` FROM live WHERE investigation = $1 AND execution = $2`
		tell    = `UPDATE cursors SET live = live + 1 WHERE investigation = $1 AND EXISTS (SELECT 1` + ofScope + `)`
	)
	for _, query := range []string{tell, `DELETE` + ofScope} {
		if _, err := q.ExecContext(ctx, query, scope.Investigation, scope.Execution); err != nil {
			return err
		}
	}
	return nil
}

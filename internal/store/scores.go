package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

const scoreColumns = `investigation, n, run_id, status, score, judgement, started_at, ended_at`

func scoreFields(r *record.Score) []any {
	return []any{
		&r.Investigation, &r.N, &r.Run, &r.Status, &r.Score, asJSON(&r.Judgement), timeColumn{&r.StartedAt}, endColumn{&r.EndedAt},
	}
}

// BeginScore records that a run begins to judge an investigation, and returns the record with its number. If the run has begun
// before, it gets its earlier record. Only one run judges at a time: earlier runs that have not ended never will.
func (s *Store) BeginScore(ctx context.Context, r record.Score) (record.Score, error) {
	err := s.writeRecords(ctx, r.Investigation, func(q querier) error {
		const known = `SELECT ` + scoreColumns + ` FROM scores WHERE investigation = $1 AND run_id = $2`
		err := q.QueryRowContext(ctx, known, r.Investigation, r.Run).Scan(scoreFields(&r)...)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		const lost = `UPDATE scores SET status = $2, ended_at = $3 WHERE investigation = $1 AND ended_at IS NULL`
		if _, err := q.ExecContext(ctx, lost, r.Investigation, agent.StatusTerminated, timeColumn{&r.StartedAt}); err != nil {
			return err
		}
		const last = `SELECT COALESCE(MAX(n), 0) FROM scores WHERE investigation = $1`
		if err := q.QueryRowContext(ctx, last, r.Investigation).Scan(&r.N); err != nil {
			return err
		}
		r.N++
		_, err = q.ExecContext(ctx, insertInto("scores", scoreColumns), scoreFields(&r)...)
		return err
	})
	return r, doing(err, "begin to score %s", r.Investigation)
}

// SaveScore records a run's score and the execution that judged. The record of a run that is over stays unchanged.
func (s *Store) SaveScore(ctx context.Context, r record.Score, by record.Execution) error {
	err := s.writeRecords(ctx, r.Investigation, func(q querier) error {
		const query = `UPDATE scores SET status = $3, score = $4, judgement = $5, ended_at = $6
			WHERE investigation = $1 AND n = $2 AND ended_at IS NULL`
		open, err := changed(q.ExecContext(ctx, query,
			r.Investigation, r.N, r.Status, r.Score, asJSON(&r.Judgement), endColumn{&r.EndedAt}))
		if err != nil || !open {
			return err
		}
		return saveExecutions(ctx, q, []record.Execution{by})
	})
	return doing(err, "save score %d of %s", r.N, r.Investigation)
}

// Scores returns the scores of an investigation, in the order in which they were requested.
func (s *Store) Scores(ctx context.Context, investigation string) ([]record.Score, error) {
	const query = `SELECT ` + scoreColumns + ` FROM scores WHERE investigation = $1 ORDER BY n`
	all, err := selectAll(ctx, s.db.reader, scoreFields, query, investigation)
	return all, doing(s.db.explain(err), "read scores of %s", investigation)
}

// LastScores returns the last score of each given investigation that has one, by ID.
func (s *Store) LastScores(ctx context.Context, ids []string) (map[string]int, error) {
	const query = `SELECT investigation, score FROM scores WHERE score IS NOT NULL AND investigation IN (`
	type last struct {
		id    string
		score int
	}
	fields := func(l *last) []any { return []any{&l.id, &l.score} }
	out := map[string]int{}
	err := inChunks(ids, func(args []any) error {
		all, err := selectAll(ctx, s.db.reader, fields, query+places(len(args))+`) ORDER BY n`, args...)
		for _, l := range all {
			out[l.id] = l.score
		}
		return err
	})
	return out, doing(s.db.explain(err), "read scores of %d investigations", len(ids))
}

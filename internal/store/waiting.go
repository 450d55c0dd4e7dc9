package store

import (
	"context"

	"github.com/inquest-dev/inquest/internal/record"
)

const waitingColumns = `investigation, workflow_id, run_id, seq, waits`

func waitingFields(w *record.Waiting) []any {
	return []any{&w.Investigation, &w.WorkflowID, &w.RunID, &w.Seq, asJSON(&w.Waits)}
}

// SetWaiting records the current waits of an investigation that has not ended, or of a conversation. The newest run wins and,
// within a run, the latest report.
func (s *Store) SetWaiting(ctx context.Context, w record.Waiting) error {
	err := s.writeRecords(ctx, w.Investigation, func(q querier) error {
		if err := speak(ctx, q, w.Investigation, w.RunID); err != nil {
			return err
		}
		if w.Status != "" {
			const query = `UPDATE investigations SET status = $2, status_seq = $3 WHERE id = $1 AND ended_at IS NULL AND status_seq < $3`
			if open, err := changed(q.ExecContext(ctx, query, w.Investigation, w.Status, w.Seq)); err != nil || !open {
				return err
			}
		}
		if err := s.addActs(ctx, q, askedActs(w)); err != nil {
			return err
		}
		query := insertInto("waiting", waitingColumns+", things") + `ON CONFLICT (investigation) ` + overwrite(waitingColumns+", things") +
			` WHERE waiting.run_id <> excluded.run_id OR waiting.seq < excluded.seq`
		_, err := q.ExecContext(ctx, query, append(waitingFields(&w), w.Len())...)
		return err
	})
	return doing(err, "record what %s waits for", w.Investigation)
}

// Waiting returns the current waits of the investigation with that ID or workflow ID, or of all if id is empty.
func (s *Store) Waiting(ctx context.Context, id string) ([]record.Waiting, error) {
	all, err := waitingOf(ctx, s.db.reader, id)
	return all, doing(s.db.explain(err), "read what is waited for")
}

func waitingOf(ctx context.Context, q querier, id string) ([]record.Waiting, error) {
	const query = `SELECT investigation, w.workflow_id, w.run_id, seq, waits, COALESCE(i.project, '')
		FROM waiting AS w LEFT JOIN investigations AS i ON i.id = w.investigation
		WHERE things > 0 AND $1 IN ('', investigation, w.workflow_id) AND i.ended_at IS NULL ORDER BY investigation`
	owned := func(w *record.Waiting) []any { return append(waitingFields(w), &w.Project) }
	return selectAll(ctx, q, owned, query, id)
}

// forgetWaits drops the waits of other runs of an investigation: after a reset, the new run reports them again. No other write may
// drop them, because a workflow does not repeat a report that it believes stored.
func forgetWaits(ctx context.Context, q querier, investigation, run string) error {
	_, err := q.ExecContext(ctx, `DELETE FROM waiting WHERE investigation = $1 AND run_id <> $2`, investigation, run)
	return err
}

// stopWaiting drops the waits of an investigation that has ended.
func stopWaiting(ctx context.Context, q querier, investigation string) error {
	_, err := q.ExecContext(ctx, `DELETE FROM waiting WHERE investigation = $1`, investigation)
	return err
}

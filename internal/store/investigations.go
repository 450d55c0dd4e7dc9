package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

const (
	investigationColumns = `id, workflow_id, run_id, chain, alert_type, plan_hash, data_hash, ` + investigationEnd + `, started_at`
	// investigationEnd are the columns that FinishInvestigation sets.
	investigationEnd = `status, end_reason, error, report, usage, envelope, ended_at`
)

func investigationFields(r *record.Investigation) []any {
	return []any{
		&r.ID, &r.WorkflowID, &r.RunID, &r.Chain, &r.AlertType, &r.PlanHash, &r.DataHash,
		&r.Status, &r.EndReason, textColumn{&r.Error}, textColumn{&r.Report}, asJSON(&r.Usage), asJSON(&r.Envelope), endColumn{&r.EndedAt}, timeColumn{&r.StartedAt},
	}
}

// StartInvestigation writes the record of an investigation that begins. One that
// exists is left alone, unless it had ended: then Temporal was reset, and it is
// running again.
func (s *Store) StartInvestigation(ctx context.Context, r record.Investigation) error {
	const reopen = `UPDATE investigations SET status = $2, end_reason = '', error = '', report = '', usage = '{}', ended_at = NULL
		WHERE id = $1`
	err := s.start(ctx, r.ID, starting{
		insert: insertInto("investigations", investigationColumns) + `ON CONFLICT (id) DO NOTHING`,
		fields: investigationFields(&r),
		status: `SELECT status FROM investigations WHERE id = $1`,
		reopen: reopen,
		key:    []any{r.ID},
	})
	if err != nil {
		return fmt.Errorf("start investigation %s: %w", r.ID, err)
	}
	return nil
}

// SaveEnvelope sets the envelope of an investigation that has not ended.
func (s *Store) SaveEnvelope(ctx context.Context, id string, envelope record.Envelope) error {
	err := s.writeRecords(ctx, id, func(q querier) error {
		_, err := q.ExecContext(ctx, `UPDATE investigations SET envelope = $2 WHERE id = $1 AND ended_at IS NULL`, id, asJSON(&envelope))
		return err
	})
	if err != nil {
		return fmt.Errorf("save envelope of %s: %w", id, err)
	}
	return nil
}

// FinishInvestigation sets how an investigation ended: status, end reason, error,
// report, usage, envelope and ended_at. Doing it again changes nothing.
func (s *Store) FinishInvestigation(ctx context.Context, r record.Investigation) error {
	query := insertInto("investigations", investigationColumns) + `ON CONFLICT (id) ` + overwrite(investigationEnd)
	err := s.writeRecords(ctx, r.ID, func(q querier) error {
		_, err := q.ExecContext(ctx, query, investigationFields(&r)...)
		return err
	})
	if err != nil {
		return fmt.Errorf("finish investigation %s: %w", r.ID, err)
	}
	return nil
}

// Investigation returns the record with that id, or ErrNotFound.
func (s *Store) Investigation(ctx context.Context, id string) (record.Investigation, error) {
	r, err := investigationOf(ctx, s.db.reader, id)
	if err != nil {
		return r, fmt.Errorf("read investigation %s: %w", id, s.db.explain(err))
	}
	return r, nil
}

func investigationOf(ctx context.Context, q querier, id string) (r record.Investigation, err error) {
	const query = `SELECT ` + investigationColumns + ` FROM investigations WHERE id = $1`
	err = q.QueryRowContext(ctx, query, id).Scan(investigationFields(&r)...)
	return r, notFound(err)
}

// Request returns the data of the request of the investigation with that id; nil
// if it has none.
func (s *Store) Request(ctx context.Context, id string) ([]byte, error) {
	r, err := s.Investigation(ctx, id)
	if err != nil || r.DataHash == "" {
		return nil, err
	}
	return s.Blob(ctx, r.DataHash)
}

// FindInvestigation returns the investigation with that id, or else the latest of
// that workflow id; ErrNotFound if there is neither.
func (s *Store) FindInvestigation(ctx context.Context, workflowID string) (r record.Investigation, err error) {
	const query = `SELECT ` + investigationColumns + ` FROM investigations WHERE workflow_id = $1 OR id = $1
		ORDER BY id = $1 DESC, started_at DESC, id DESC LIMIT 1`
	err = s.db.reader.QueryRowContext(ctx, query, workflowID).Scan(investigationFields(&r)...)
	if err != nil {
		return r, fmt.Errorf("find investigation %s: %w", workflowID, s.db.explain(notFound(err)))
	}
	return r, nil
}

// Filter selects investigations. Its zero value selects all.
type Filter struct {
	Status agent.Status // "" = any
	Chain  string       // "" = any
	Limit  int          // 0 = all
}

// Investigations returns the records that the filter selects, newest first.
func (s *Store) Investigations(ctx context.Context, f Filter) ([]record.Investigation, error) {
	var query strings.Builder
	query.WriteString(`SELECT ` + investigationColumns + ` FROM investigations WHERE TRUE`)
	var args []any
	if f.Status != "" {
		args = append(args, f.Status)
		fmt.Fprintf(&query, ` AND status = $%d`, len(args))
	}
	if f.Chain != "" {
		args = append(args, f.Chain)
		fmt.Fprintf(&query, ` AND chain = $%d`, len(args))
	}
	query.WriteString(` ORDER BY started_at DESC, id DESC` + limitTo(f.Limit))
	all, err := selectAll(ctx, s.db.reader, investigationFields, query.String(), args...)
	if err != nil {
		return nil, fmt.Errorf("list investigations: %w", s.db.explain(err))
	}
	return all, nil
}

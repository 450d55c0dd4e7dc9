package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const (
	stageColumns     = `investigation, name, idx, status, outcome, result, error, envelope, started_at, ended_at`
	executionColumns = `investigation, name, stage, agent, type, llm_backend, provider, model, ` +
		`status, stop_reason, forced, iterations, usage, error, started_at, ended_at, actions_executed`
)

func stageFields(r *record.Stage) []any {
	return []any{
		&r.Investigation, &r.Name, &r.Index, &r.Status, &r.Outcome, &r.Result, textColumn{&r.Error},
		asJSON(&r.Envelope), timeColumn{&r.StartedAt}, endColumn{&r.EndedAt},
	}
}

func executionFields(r *record.Execution) []any {
	return []any{
		&r.Investigation, &r.Name, &r.Stage, &r.Agent, &r.Type, &r.LLMBackend, &r.Provider, textColumn{&r.Model},
		&r.Status, &r.StopReason, &r.Forced, &r.Iterations, asJSON(&r.Usage), textColumn{&r.Error},
		timeColumn{&r.StartedAt}, endColumn{&r.EndedAt}, &r.ActionsExecuted,
	}
}

// SaveStage writes the current state of a stage and its executions in one transaction. If an envelope is given and the
// investigation has not ended, it writes that, too. For an ended execution, it drops the live tail and the reservations; for an
// ended stage, it releases unread letters to other stages. The later end wins, so a late write of a run that Temporal has reset
// changes nothing.
func (s *Store) SaveStage(ctx context.Context, stage record.Stage, executions []record.Execution, envelope *record.Envelope) error {
	err := s.writeRecords(ctx, stage.Investigation, func(q querier) error {
		if envelope != nil {
			const query = `UPDATE investigations SET envelope = $2 WHERE id = $1 AND ended_at IS NULL`
			if _, err := q.ExecContext(ctx, query, stage.Investigation, asJSON(envelope)); err != nil {
				return err
			}
		}
		query := insertInto("stages", stageColumns) + `ON CONFLICT (investigation, name) ` + overwrite(stageColumns) +
			` WHERE stages.ended_at IS NULL OR excluded.ended_at IS NULL OR excluded.ended_at >= stages.ended_at`
		if stands, err := changed(q.ExecContext(ctx, query, stageFields(&stage)...)); err != nil || !stands {
			return err
		}
		if stage.EndedAt != nil {
			if err := freeMail(ctx, q, stage.Investigation, stage.Name); err != nil {
				return err
			}
		}
		return saveExecutions(ctx, q, executions)
	})
	return doing(err, "save stage %s of %s", stage.Name, stage.Investigation)
}

// SaveExecution writes the current state of a sub-agent's execution.
func (s *Store) SaveExecution(ctx context.Context, r record.Execution) error {
	err := s.writeRecords(ctx, r.Investigation, func(q querier) error { return saveExecutions(ctx, q, []record.Execution{r}) })
	return doing(err, "save execution %s of %s", r.Name, r.Investigation)
}

// saveExecutions writes executions. The usage of an ended execution is the ledger's total, the same as shown while it ran.
func saveExecutions(ctx context.Context, q querier, executions []record.Execution) error {
	query := insertInto("executions", executionColumns) + `ON CONFLICT (investigation, name) ` + overwrite(executionColumns)
	for _, r := range executions {
		scope := transcript.Scope{Investigation: r.Investigation, Execution: r.Name}
		if r.Status.Closed() {
			if err := errors.Join(usageOf(ctx, q, scope, &r.Usage), dropLive(ctx, q, scope), release(ctx, q, scope)); err != nil {
				return fmt.Errorf("execution %s: %w", r.Name, err)
			}
		}
		if _, err := q.ExecContext(ctx, query, executionFields(&r)...); err != nil {
			return fmt.Errorf("execution %s: %w", r.Name, err)
		}
	}
	return nil
}

// usageOf reads an execution's charged usage; without a charge, u stays unchanged.
func usageOf(ctx context.Context, q querier, scope transcript.Scope, u *agent.Usage) error {
	const query = `SELECT ` + usageColumns + ` FROM execution_sums WHERE investigation = $1 AND execution = $2`
	err := q.QueryRowContext(ctx, query, scope.Investigation, scope.Execution).Scan(usageFields(u)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// StartExecution records that a run begins an execution, and makes it the execution's newest run. An existing record stays
// unchanged, unless it ended before this run: then the execution is running again.
func (s *Store) StartExecution(ctx context.Context, r record.Execution, run string) error {
	const reopen = `UPDATE executions SET status = $3, stop_reason = '', forced = FALSE, iterations = 0, usage = '{}', error = '',
		actions_executed = NULL, ended_at = NULL WHERE investigation = $1 AND name = $2 AND ended_at IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM entries WHERE investigation = $1 AND execution = $2 AND run_id = $4 AND superseded = 0)`
	err := s.writeRecords(ctx, r.Investigation, func(q querier) error {
		scope := transcript.Scope{Investigation: r.Investigation, Execution: r.Name}
		if _, err := (claim{scope, transcript.Key{}, run}).present(ctx, q); err != nil {
			return err
		}
		insert := insertInto("executions", executionColumns) + `ON CONFLICT (investigation, name) DO NOTHING`
		inserted, err := changed(q.ExecContext(ctx, insert, executionFields(&r)...))
		if err == nil && !inserted {
			_, err = q.ExecContext(ctx, reopen, r.Investigation, r.Name, agent.StatusRunning, run)
		}
		return err
	})
	return doing(err, "start execution %s of %s", r.Name, r.Investigation)
}

// SetModel records that a running execution has switched to another model.
func (s *Store) SetModel(ctx context.Context, r record.Execution) error {
	const query = `UPDATE executions SET provider = $3, model = $4 WHERE investigation = $1 AND name = $2 AND ended_at IS NULL`
	err := s.writeRecords(ctx, r.Investigation, func(q querier) error {
		_, err := q.ExecContext(ctx, query, r.Investigation, r.Name, r.Provider, textColumn{&r.Model})
		return err
	})
	return doing(err, "record the model of execution %s of %s", r.Name, r.Investigation)
}

// Stages returns an investigation's stage runs in the order in which they started.
func (s *Store) Stages(ctx context.Context, investigation string) ([]record.Stage, error) {
	stages, err := stagesOf(ctx, s.db.reader, investigation)
	return stages, doing(s.db.explain(err), "read stages of %s", investigation)
}

func stagesOf(ctx context.Context, q querier, investigation string) ([]record.Stage, error) {
	const query = `SELECT ` + stageColumns + ` FROM stages WHERE investigation = $1 ORDER BY started_at, idx, name`
	return selectAll(ctx, q, stageFields, query, investigation)
}

// Executions returns an investigation's executions in the order in which they started.
func (s *Store) Executions(ctx context.Context, investigation string) ([]record.Execution, error) {
	executions, err := executionsOf(ctx, s.db.reader, investigation)
	return executions, doing(s.db.explain(err), "read executions of %s", investigation)
}

func executionsOf(ctx context.Context, q querier, investigation string) ([]record.Execution, error) {
	const query = `SELECT ` + executionColumns + ` FROM executions WHERE investigation = $1 ORDER BY started_at, name`
	executions, err := selectAll(ctx, q, executionFields, query, investigation)
	if err != nil || !slices.ContainsFunc(executions, func(r record.Execution) bool { return r.EndedAt == nil }) {
		return executions, err
	}
	return executions, workSoFar(ctx, q, investigation, executions)
}

// workSoFar adds the progress of executions that have not ended: their usage, and the latest iteration with stored entries or a
// live tail.
func workSoFar(ctx context.Context, q querier, investigation string, executions []record.Execution) error {
	query := `SELECT x.name,
			COALESCE((SELECT MAX(iteration) FROM entries WHERE superseded = 0 AND investigation = x.investigation AND execution = x.name), 0),
			COALESCE((SELECT iteration FROM live WHERE investigation = x.investigation AND execution = x.name), 0),
			` + usageOrNone + `
		FROM executions x LEFT JOIN execution_sums s ON s.investigation = x.investigation AND s.execution = x.name
		WHERE x.investigation = $1 AND x.ended_at IS NULL`
	type work struct {
		name       string
		done, live int
		used       agent.Usage
	}
	fields := func(w *work) []any { return append([]any{&w.name, &w.done, &w.live}, usageFields(&w.used)...) }
	all, err := selectAll(ctx, q, fields, query, investigation)
	for _, w := range all {
		for n := range executions {
			if r := &executions[n]; r.Name == w.name && r.EndedAt == nil {
				r.Iterations, r.Usage = max(w.done, w.live), w.used
			}
		}
	}
	return err
}

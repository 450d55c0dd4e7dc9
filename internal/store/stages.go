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
	executionColumns = executionState + `, started_at`
	// executionState has the columns that a later write of the same execution changes.
	executionState = `investigation, name, stage, agent, type, llm_backend, provider, model, ` +
		`status, stop_reason, forced, iterations, usage, error, ended_at, actions_executed`
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
		endColumn{&r.EndedAt}, &r.ActionsExecuted, timeColumn{&r.StartedAt},
	}
}

// SaveStage writes the current state of a stage and its executions in one transaction. If an envelope is given and the
// investigation has not ended, it writes that, too. For an ended execution, it drops the live tail and the reservations; for an
// ended stage, it releases unread letters to other stages. The later end wins, so a late write of a run that Temporal has reset
// changes nothing.
func (s outcomes) SaveStage(ctx context.Context, stage record.Stage, executions []record.Execution, envelope *record.Envelope) error {
	err := s.writeRecords(ctx, stage.Investigation, func(q querier) error {
		if err := lookFor(ctx, q, stage.Investigation, stage.Requires).required(); err != nil {
			return err
		}
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
func (s outcomes) SaveExecution(ctx context.Context, r record.Execution) error {
	err := s.writeRecords(ctx, r.Investigation, func(q querier) error { return saveExecutions(ctx, q, []record.Execution{r}) })
	return doing(err, "save execution %s of %s", r.Name, r.Investigation)
}

// saveExecutions writes executions. An execution keeps the start that was written first, so that executions keep their order:
// workers of earlier versions report another start at the end. The usage of an ended execution is the ledger's total, the same as
// shown while it ran.
func saveExecutions(ctx context.Context, q querier, executions []record.Execution) error {
	query := insertInto("executions", executionColumns) + `ON CONFLICT (investigation, name) ` + overwrite(executionState)
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
func (s outcomes) StartExecution(ctx context.Context, r record.Execution, run string) error {
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
func (s outcomes) SetModel(ctx context.Context, r record.Execution) error {
	const query = `UPDATE executions SET provider = $3, model = $4 WHERE investigation = $1 AND name = $2 AND ended_at IS NULL`
	err := s.writeRecords(ctx, r.Investigation, func(q querier) error {
		_, err := q.ExecContext(ctx, query, r.Investigation, r.Name, r.Provider, textColumn{&r.Model})
		return err
	})
	return doing(err, "record the model of execution %s of %s", r.Name, r.Investigation)
}

// Stages returns an investigation's stage runs in the order in which they started.
func (s outcomes) Stages(ctx context.Context, investigation string) ([]record.Stage, error) {
	stages, err := stagesOf(ctx, s.db.reader, investigation)
	return stages, doing(s.db.explain(err), "read stages of %s", investigation)
}

func stagesOf(ctx context.Context, q querier, investigation string) ([]record.Stage, error) {
	const query = `SELECT ` + stageColumns + ` FROM stages WHERE investigation = $1 ORDER BY started_at, idx, name`
	return selectAll(ctx, q, stageFields, query, investigation)
}

// Executions returns an investigation's executions in the order in which they started.
func (s outcomes) Executions(ctx context.Context, investigation string) ([]record.Execution, error) {
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

const scoreColumns = `investigation, n, run_id, status, score, judgement, started_at, ended_at`

func scoreFields(r *record.Score) []any {
	return []any{
		&r.Investigation, &r.N, &r.Run, &r.Status, &r.Score, asJSON(&r.Judgement), timeColumn{&r.StartedAt}, endColumn{&r.EndedAt},
	}
}

// BeginScore records that a run begins to judge an investigation, and returns the record with its number. If the run has begun
// before, it gets its earlier record. Only one run judges at a time: earlier runs that have not ended never will.
func (s outcomes) BeginScore(ctx context.Context, r record.Score) (record.Score, error) {
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
	return r, doing(err, "record the start of scoring %s", r.Investigation)
}

// SaveScore records a run's score and the execution that judged. The record of a run that is over stays unchanged.
func (s outcomes) SaveScore(ctx context.Context, r record.Score, by record.Execution) error {
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
func (s outcomes) Scores(ctx context.Context, investigation string) ([]record.Score, error) {
	const query = `SELECT ` + scoreColumns + ` FROM scores WHERE investigation = $1 ORDER BY n`
	all, err := selectAll(ctx, s.db.reader, scoreFields, query, investigation)
	return all, doing(s.db.explain(err), "read scores of %s", investigation)
}

// LastScores returns the last score of each given investigation that has one, by ID.
func (s outcomes) LastScores(ctx context.Context, ids []string) (map[string]int, error) {
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
	return out, doing(s.db.explain(err), "read the scores of investigations")
}

const waitingColumns = `investigation, workflow_id, run_id, seq, waits`

func waitingFields(w *record.Waiting) []any {
	return []any{&w.Investigation, &w.WorkflowID, &w.RunID, &w.Seq, asJSON(&w.Waits)}
}

// SetWaiting records the current waits of an investigation that has not ended, or of a conversation. The newest run wins and,
// within a run, the latest report.
func (s investigations) SetWaiting(ctx context.Context, w record.Waiting) error {
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
func (s investigations) Waiting(ctx context.Context, id string) ([]record.Waiting, error) {
	all, err := waitingOf(ctx, s.db.reader, id)
	return all, doing(s.db.explain(err), "read pending items")
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

// stopWaiting drops the waits of an ended investigation.
func stopWaiting(ctx context.Context, q querier, investigation string) error {
	_, err := q.ExecContext(ctx, `DELETE FROM waiting WHERE investigation = $1`, investigation)
	return err
}

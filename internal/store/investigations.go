package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

const (
	investigationColumns = `id, workflow_id, run_id, ` + investigationRequest + `, ` + investigationEnd + `, started_at`
	// investigationRequest are the columns that are read from the request.
	investigationRequest = `chain, alert_type, plan_hash, data_hash, project, tenant, session, priority, fingerprint, metadata, overrides`
	// investigationEnd are the columns that FinishInvestigation sets.
	investigationEnd = `status, end_reason, error, report, usage, envelope, ended_at, writer`
)

func investigationFields(r *record.Investigation) []any {
	return []any{
		&r.ID, &r.WorkflowID, &r.RunID, &r.Chain, &r.AlertType, &r.PlanHash, &r.DataHash,
		projectColumn{&r.Project}, &r.Tenant, &r.Session, &r.Priority, &r.Fingerprint, asJSON(&r.Metadata), asJSON(&r.Overrides),
		&r.Status, &r.EndReason, textColumn{&r.Error}, textColumn{&r.Report}, asJSON(&r.Usage), asJSON(&r.Envelope),
		endColumn{&r.EndedAt}, &r.Writer, timeColumn{&r.StartedAt},
	}
}

// StartInvestigation writes the record of an investigation that begins. If a run makes several attempts, the first one with a plan
// wins. A different run comes from a Temporal reset: it has read the request again and takes over the record.
func (s investigations) StartInvestigation(ctx context.Context, r record.Investigation) error {
	const begin = investigationRequest + `, ` + reopened
	query := insertInto("investigations", investigationColumns) + `ON CONFLICT (id) ` + overwrite(begin) +
		`, status_seq = 0 WHERE investigations.writer <> excluded.writer OR investigations.plan_hash = ''`
	return s.writeInvestigation(ctx, "start", r, func(q querier) (sql.Result, error) {
		if err := forgetWaits(ctx, q, r.ID, r.Writer); err != nil {
			return nil, err
		}
		if err := s.addActs(ctx, q, []audit.Act{startedAct(r)}); err != nil {
			return nil, err
		}
		return q.ExecContext(ctx, query, investigationFields(&r)...)
	})
}

// reopened are the columns that make a record say that its investigation runs again. The report and the usage keep their old values
// until it ends.
const reopened = `status, end_reason, error, ended_at, writer`

// ReopenInvestigation makes the record say that a run continues an investigation that Temporal has reset. It does nothing if that
// run has already ended the investigation.
func (s investigations) ReopenInvestigation(ctx context.Context, id, run string) error {
	const query = `UPDATE investigations SET status = $2, end_reason = '', error = '', ended_at = NULL, writer = $3, status_seq = 0
		WHERE id = $1 AND (writer <> $3 OR ended_at IS NULL)`
	return s.writeInvestigation(ctx, "reopen", record.Investigation{ID: id, Writer: run}, func(q querier) (sql.Result, error) {
		if err := forgetWaits(ctx, q, id, run); err != nil {
			return nil, err
		}
		if err := s.addActs(ctx, q, []audit.Act{resetAct(id, run)}); err != nil {
			return nil, err
		}
		return q.ExecContext(ctx, query, id, agent.StatusRunning, run)
	})
}

// FinishInvestigation records how an investigation ended: status, end reason, error, report, usage, envelope and ended_at. A
// repeated call changes nothing. The usage is the ledger's total, the same as shown while the investigation ran.
func (s investigations) FinishInvestigation(ctx context.Context, r record.Investigation) error {
	query := insertInto("investigations", investigationColumns) + `ON CONFLICT (id) ` + overwrite(investigationEnd)
	defer s.logs.forget(r.ID)
	return s.writeInvestigation(ctx, "finish", r, func(q querier) (sql.Result, error) {
		used, err := charged(ctx, q, []string{r.ID})
		if err != nil {
			return nil, err
		}
		if u, known := used[r.ID]; known {
			r.Usage = u
		}
		if err := stopWaiting(ctx, q, r.ID); err != nil {
			return nil, err
		}
		if err := s.addActs(ctx, q, []audit.Act{endedAct(r)}); err != nil {
			return nil, err
		}
		return q.ExecContext(ctx, query, investigationFields(&r)...)
	})
}

// writeInvestigation writes a record. It returns ErrStaleRun if the writer is a run that was replaced.
func (s investigations) writeInvestigation(
	ctx context.Context, what string, r record.Investigation, write func(querier) (sql.Result, error),
) error {
	err := s.writeRecords(ctx, r.ID, func(q querier) error {
		if r.Writer != "" {
			if err := speak(ctx, q, r.ID, r.Writer); err != nil {
				return err
			}
		}
		if err := lookFor(ctx, q, r.ID, r.Requires).required(); err != nil {
			return err
		}
		if _, err := write(q); err != nil {
			return err
		}
		return indexWords(ctx, q, s.db, r.ID)
	})
	return doing(err, "%s investigation %s", what, r.ID)
}

// speak checks that an investigation's own run was not replaced. These runs are stored beside those of its executions. Messages to
// people stay, whichever run sent them.
func speak(ctx context.Context, q querier, id, run string) error {
	_, err := claim{transcript.Scope{Investigation: id}, transcript.Key{}, run}.present(ctx, q)
	return err
}

// Running returns the investigations whose records say that they have not ended, oldest first.
func (s investigations) Running(ctx context.Context) ([]record.Investigation, error) {
	const query = `SELECT ` + investigationColumns + ` FROM investigations WHERE ended_at IS NULL ORDER BY started_at, id`
	all, err := selectAll(ctx, s.db.reader, investigationFields, query)
	if err == nil {
		err = soFar(ctx, s.db.reader, all)
	}
	return all, doing(s.db.explain(err), "list running investigations")
}

// CloseInvestigation records how an investigation ended that could not record it itself, and closes its open stages and executions.
// It changes nothing if any run has written the record since r was read.
func (s investigations) CloseInvestigation(ctx context.Context, r record.Investigation) (closed bool, err error) {
	err = s.writeRecords(ctx, r.ID, func(q querier) error {
		used, err := charged(ctx, q, []string{r.ID})
		if err != nil {
			return err
		}
		r.Usage = used[r.ID]
		const query = `UPDATE investigations SET status = $2, end_reason = $3, error = $4, usage = $5, ended_at = $6
			WHERE id = $1 AND writer = $7 AND ended_at IS NULL`
		closed, err = changed(q.ExecContext(ctx, query,
			r.ID, r.Status, r.EndReason, textColumn{&r.Error}, asJSON(&r.Usage), endColumn{&r.EndedAt}, r.Writer))
		if err != nil || !closed {
			return err
		}
		if err := s.addActs(ctx, q, []audit.Act{endedAct(r)}); err != nil {
			return err
		}
		if err := closeParts(ctx, q, r); err != nil {
			return err
		}
		return indexWords(ctx, q, s.db, r.ID)
	})
	return closed, doing(err, "close investigation %s", r.ID)
}

// closeParts closes the stages and executions that an investigation left open.
func closeParts(ctx context.Context, q querier, r record.Investigation) error {
	for _, query := range []string{
		`UPDATE stages SET status = $2, ended_at = $3 WHERE investigation = $1 AND ended_at IS NULL`,
		`UPDATE executions SET status = $2, ended_at = $3 WHERE investigation = $1 AND ended_at IS NULL`,
	} {
		if _, err := q.ExecContext(ctx, query, r.ID, r.Status, endColumn{&r.EndedAt}); err != nil {
			return err
		}
	}
	if _, err := q.ExecContext(ctx, `DELETE FROM live WHERE investigation = $1`, r.ID); err != nil {
		return err
	}
	if err := stopWaiting(ctx, q, r.ID); err != nil {
		return err
	}
	return raise(ctx, q, r.ID, cursor{live: 1})
}

// Investigation returns the record with that ID, or ErrNotFound.
func (s investigations) Investigation(ctx context.Context, id string) (record.Investigation, error) {
	r, err := investigationOf(ctx, s.db.reader, id)
	return r, doing(s.db.explain(err), "read investigation %s", id)
}

func investigationOf(ctx context.Context, q querier, id string) (r record.Investigation, err error) {
	const query = `SELECT ` + investigationColumns + ` FROM investigations WHERE id = $1`
	return oneSoFar(ctx, q, query, id)
}

// oneSoFar reads the record that a query selects; see soFar.
func oneSoFar(ctx context.Context, q querier, query string, args ...any) (record.Investigation, error) {
	one := make([]record.Investigation, 1)
	err := q.QueryRowContext(ctx, query, args...).Scan(investigationFields(&one[0])...)
	if err == nil {
		err = soFar(ctx, q, one)
	}
	return one[0], notFound(err)
}

// Request returns the request data of the investigation with that ID; nil if it has none.
func (s investigations) Request(ctx context.Context, id string) ([]byte, error) {
	r, err := s.Investigation(ctx, id)
	if err != nil || r.DataHash == "" {
		return nil, err
	}
	return blobs(s).Blob(ctx, r.DataHash)
}

// FindInvestigation returns the investigation with that ID, or else the latest one with that workflow ID, or ErrNotFound.
func (s investigations) FindInvestigation(ctx context.Context, workflowID string) (r record.Investigation, err error) {
	const query = `SELECT ` + investigationColumns + ` FROM investigations WHERE workflow_id = $1 OR id = $1
		ORDER BY id = $1 DESC, started_at DESC, id DESC LIMIT 1`
	r, err = oneSoFar(ctx, s.db.reader, query, workflowID)
	return r, doing(s.db.explain(err), "find investigation %s", workflowID)
}

// Matching returns the names that begin with a text, sorted and at most limit. Names are workflow IDs or, if the text is longer
// than those, investigation IDs.
func (s investigations) Matching(ctx context.Context, begin string, limit int) ([]string, error) {
	query := `SELECT DISTINCT CASE WHEN length(workflow_id) < length(CAST($1 AS TEXT)) THEN id ELSE workflow_id END AS name
		FROM investigations WHERE substr(id, 1, length(CAST($1 AS TEXT))) = $1 ORDER BY name` + limitTo(limit)
	all, err := selectAll(ctx, s.db.reader, func(name *string) []any { return []any{name} }, query, begin)
	return all, doing(s.db.explain(err), "find investigations that begin with %s", begin)
}

// Same returns the investigations that are duplicates of a record with a fingerprint: those of the same project, tenant and chain
// that started earlier and either run under another workflow ID or have completed since the given time. Running ones may have been
// terminated.
func (s investigations) Same(ctx context.Context, r record.Investigation, since time.Time) ([]record.Investigation, error) {
	const query = `SELECT ` + investigationColumns + ` FROM investigations WHERE fingerprint = $1 AND fingerprint <> '' AND tenant = $2
		AND project = $9 AND chain = $3 AND (started_at < $4 OR started_at = $4 AND id < $5)
		AND (ended_at IS NULL AND workflow_id <> $6 OR status = $7 AND ended_at >= $8) ORDER BY started_at, id`
	all, err := selectAll(ctx, s.db.reader, investigationFields, query,
		r.Fingerprint, r.Tenant, r.Chain, timeColumn{&r.StartedAt}, r.ID, r.WorkflowID, agent.StatusCompleted, timeColumn{&since},
		projectColumn{&r.Project})
	return all, doing(s.db.explain(err), "look for investigations with the fingerprint of %s", r.ID)
}

// Investigations returns the records that the filter selects, newest first.
func (s investigations) Investigations(ctx context.Context, f Filter) (all []record.Investigation, err error) {
	if f.Search != "" {
		all, err = s.searched(ctx, f)
	} else {
		query, args := queryOf(f, s.db, searched{})
		all, err = selectAll(ctx, s.db.reader, investigationFields, query, args...)
	}
	if err == nil {
		err = soFar(ctx, s.db.reader, all)
	}
	return all, doing(s.db.explain(err), "list investigations")
}

// queryOf returns the query for the records that a filter selects.
func queryOf(f Filter, db database, found searched) (query string, args []any) {
	conditions, args := conditionsOf(f, db, found)
	query = `SELECT ` + investigationColumns + ` FROM investigations WHERE ` + conditions
	return query + ` ORDER BY started_at DESC, id DESC` + limitTo(f.Limit), args
}

// conditionsOf returns the conditions for the records that a filter selects. It adds one only for each field that is set, so that each
// database uses the best index: by start, or of open investigations.
func conditionsOf(f Filter, db database, found searched) (query string, args []any) {
	query = `$1 IN ('', status) AND $2 IN ('', chain) AND $3 IN ('', alert_type)`
	args = []any{f.Status, f.Chain, f.AlertType}
	and := func(condition string, arg any) {
		args = append(args, arg)
		query += fmt.Sprintf(condition, len(args))
	}
	if !f.Since.IsZero() {
		and(` AND started_at >= $%d`, timeColumn{&f.Since})
	}
	project := `project`
	if open := slices.Contains(agent.Open(), f.Status); open || f.NeedsMe || f.Open {
		query += ` AND ended_at IS NULL`
		project = `(project || '')` // avoids its index: few investigations are open
	}
	if found.condition != "" {
		project = `(project || '')` // avoids its index: few investigations match the name
	}
	if f.Projects != nil {
		in := []string{}
		for _, name := range f.Projects {
			args = append(args, name)
			in = append(in, fmt.Sprintf("$%d", len(args)))
		}
		query += ` AND ` + project + ` IN (` + cmp.Or(strings.Join(in, ", "), "NULL") + `)`
	}
	if f.Before.ID != "" {
		and(` AND (started_at, id) < ($%d`, timeColumn{&f.Before.StartedAt})
		and(`, $%d)`, f.Before.ID)
	}
	if f.Search != "" {
		const text = `workflow_id || ' ' || chain || ' ' || alert_type`
		and(` AND `+db.has(text, `$%d`), f.Search)
	}
	if found.condition != "" {
		and(found.condition, found.arg)
	}
	if f.Tenant != "" {
		and(` AND tenant = $%d`, f.Tenant)
	}
	if f.Session != "" {
		and(` AND session = $%d AND session <> ''`, f.Session)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		pair, _ := asJSON(&map[string]string{key: f.Metadata[key]}).Value() // {"key":"value"}, as in the stored object
		and(` AND replace(metadata, $%d, '') <> metadata`, strings.Trim(pair.(string), "{}\n"))
	}
	if f.Review != "" {
		and(` AND `+strings.ReplaceAll(reviewState, "%", "%%")+` = $%d`, f.Review)
	}
	if f.Assignee != "" {
		const claimed = ` AND (id, writer) IN (SELECT investigation, run FROM reviews WHERE assigned_at IS NOT NULL AND assignee = $%d)`
		and(claimed, textColumn{&f.Assignee})
	}
	if f.NoTrials {
		query += ` AND NOT ` + isTrial
	}
	if f.NeedsMe {
		query += ` AND status IN ('` + strings.Join(record.NeedsMe, `', '`) + `')`
	}
	return query, args
}

package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const entryColumns = `investigation, execution, iteration, position, seq, kind, at, run_id, activity_id, superseded <> 0, body`

func entryFields(e *transcript.Entry) []any {
	return []any{
		&e.Investigation, &e.Execution, &e.Iteration, &e.Position, &e.Seq, &e.Kind, timeColumn{&e.At},
		&e.Writer.RunID, &e.Writer.ActivityID, &e.Superseded, asJSON(&e.Body),
	}
}

// Entries returns the log of an execution in key order, without superseded entries.
func (s journal) Entries(ctx context.Context, scope transcript.Scope) ([]transcript.Entry, error) {
	const query = `SELECT ` + entryColumns + ` FROM entries WHERE superseded = 0 AND investigation = $1 AND execution = $2
		ORDER BY iteration, position`
	if kept := s.logs.get(scope); kept.last.Seq > 0 && kept.from == 0 {
		k, _, err := s.readLog(ctx, claim{Scope: scope}, 0)
		return k.Log, doing(err, "read transcript of %s, %s", scope.Investigation, scope.Execution)
	}
	entries, err := selectAll(ctx, s.db.reader, entryFields, query, scope.Investigation, scope.Execution)
	return entries, doing(s.db.explain(err), "read transcript of %s, %s", scope.Investigation, scope.Execution)
}

// EntriesSince is Entries with only the log from an iteration on, and the system prompt. From 0 means the whole log.
func (s journal) EntriesSince(ctx context.Context, scope transcript.Scope, from int) ([]transcript.Entry, error) {
	if from == 0 {
		return s.Entries(ctx, scope)
	}
	const query = `SELECT ` + entryColumns + ` FROM entries WHERE superseded = 0 AND investigation = $1 AND execution = $2`
	first, err := selectAll(ctx, s.db.reader, entryFields, query+isSystemPrompt, scope.Investigation, scope.Execution)
	var entries []transcript.Entry
	if err == nil {
		entries, err = selectAll(ctx, s.db.reader, entryFields, query+` AND iteration >= $3 ORDER BY iteration, position`,
			scope.Investigation, scope.Execution, from)
	}
	entries = append(first, entries...)
	return entries, doing(s.db.explain(err), "read transcript of %s, %s from %d", scope.Investigation, scope.Execution, from)
}

// WithArtifacts returns the results of an investigation that hold more than text, in the order of writing, without superseded ones.
func (s journal) WithArtifacts(ctx context.Context, investigation string) ([]transcript.Entry, error) {
	const query = `SELECT ` + entryColumns + ` FROM entries WHERE superseded = 0 AND investigation = $1 AND kind = $2
		AND body LIKE '%"artifacts":[%' ORDER BY seq`
	entries, err := selectAll(ctx, s.db.reader, entryFields, query, investigation, transcript.KindResult)
	return entries, doing(s.db.explain(err), "read the artifacts of %s", investigation)
}

// Notices returns the newest notices of an investigation, at most limit, in the order of writing.
func (s journal) Notices(ctx context.Context, investigation string, limit int) ([]transcript.Entry, error) {
	const query = `SELECT ` + entryColumns + ` FROM entries WHERE superseded = 0 AND investigation = $1 AND kind = $2
		ORDER BY seq DESC LIMIT $3`
	entries, err := selectAll(ctx, s.db.reader, entryFields, query, investigation, transcript.KindNotice, limit)
	slices.Reverse(entries)
	return entries, doing(s.db.explain(err), "read the notices of %s", investigation)
}

// UnknownCalls returns an investigation's tool calls with an unknown outcome, in the order in which they began. Either the call's
// result says that the outcome is unknown, or the call has an intent and no result. Some of the latter may still be running. Late
// answers to the calls are included.
func (s journal) UnknownCalls(ctx context.Context, investigation string) ([]transcript.UnknownCall, error) {
	const unknown = `LIKE '%"error_type":"` + tool.ErrorOutcomeUnknown + `"%'`
	const query = `SELECT ` + entryColumns + ` FROM entries e WHERE superseded = 0 AND investigation = $1 AND (
		(kind = $2 AND body ` + unknown + `) OR (kind = $3 AND NOT EXISTS (
			SELECT 1 FROM entries r WHERE r.superseded = 0 AND r.investigation = e.investigation AND r.execution = e.execution
			AND r.iteration = e.iteration AND r.position = e.position + 1 AND r.body NOT ` + unknown + `)) OR (
			kind = $4 AND position >= $5)) ORDER BY seq`
	entries, err := selectAll(ctx, s.db.reader, entryFields, query, investigation, transcript.KindResult, transcript.KindCall,
		transcript.KindNotice, transcript.LateKey(0, 0).Position)
	return transcript.UnknownCalls(entries), doing(s.db.explain(err), "read the calls of %s with unknown outcomes", investigation)
}

// After returns an investigation's entries after seq in the order of writing, including superseded ones. A limit of 0 or less means
// all.
func (s journal) After(ctx context.Context, investigation string, seq int64, limit int) ([]transcript.Entry, error) {
	return s.Part(ctx, Part{Investigation: investigation, After: seq, Limit: limit})
}

// Part selects entries of an investigation.
type Part struct {
	Investigation string
	Execution     string            // empty means all
	Kinds         []transcript.Kind // empty means all kinds
	After, Before int64             // exclusive bounds of the numbers; Before 0 means no upper bound
	// Limit is the maximum number of entries: the first ones or, with Before, the last ones. 0 or less means all.
	Limit int
}

// Part returns the selected entries in the order of writing, including superseded ones.
func (s journal) Part(ctx context.Context, p Part) ([]transcript.Entry, error) {
	entries, err := partOf(ctx, s.db.reader, p)
	return entries, doing(s.db.explain(err), "read transcript of %s after %d", p.Investigation, p.After)
}

func partOf(ctx context.Context, q querier, p Part) ([]transcript.Entry, error) {
	query, args := `SELECT `+entryColumns+` FROM entries WHERE investigation = $1 AND seq > $2`, []any{p.Investigation, p.After}
	and := func(condition string, values ...any) {
		query, args = query+" AND "+condition, append(args, values...)
	}
	if p.Execution != "" {
		and(fmt.Sprintf("execution = $%d", len(args)+1), p.Execution)
	}
	if len(p.Kinds) > 0 {
		var named []string
		for _, kind := range p.Kinds {
			args = append(args, string(kind))
			named = append(named, fmt.Sprintf("$%d", len(args)))
		}
		and("kind IN (" + strings.Join(named, ", ") + ")")
	}
	order := " ORDER BY seq"
	if p.Before > 0 {
		and(fmt.Sprintf("seq < $%d", len(args)+1), p.Before)
		order += " DESC"
	}
	entries, err := selectAll(ctx, q, entryFields, query+order+limitTo(p.Limit), args...)
	if p.Before > 0 {
		slices.Reverse(entries)
	}
	return entries, err
}

func limitTo(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" LIMIT %d", n)
}

// insertEntry writes one row, with its body, of the step whose first row has the number first. It charges the ledger with the row's
// usage, and notes the letter that the row quotes, the rule that it relies on, and the outcome of a call.
func insertEntry(ctx context.Context, q querier, first int64, e transcript.Entry, body driver.Value) error {
	if err := insertBare(ctx, q, first, e, body); err != nil {
		return err
	}
	if e.Mail > 0 {
		if _, err := q.ExecContext(ctx, insertInto("readings", "investigation, mail, entry"), e.Investigation, e.Mail, e.Seq); err != nil {
			return err
		}
	}
	if err := keepPast(ctx, q, e); err != nil {
		return err
	}
	if e.Rule != "" && e.Kind == transcript.KindCall {
		if err := countUse(ctx, q, e.Rule, e.At); err != nil {
			return err
		}
	}
	if took, something := took(e); something {
		return charge(ctx, q, e, took)
	}
	return nil
}

// insertBare is insertEntry without side effects.
func insertBare(ctx context.Context, q querier, first int64, e transcript.Entry, body driver.Value) error {
	const query = `INSERT INTO entries
		(investigation, execution, iteration, position, seq, step, kind, at, run_id, activity_id, superseded, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, $11)`
	_, err := q.ExecContext(ctx, query, e.Investigation, e.Execution, e.Iteration, e.Position, e.Seq, first, e.Kind,
		timeColumn{&e.At}, e.Writer.RunID, e.Writer.ActivityID, body)
	return err
}

// Share copies entries of an investigation to its fork, in the same order, unless the fork has shared entries already. It also copies
// the lists of the executions' tools. Every run of the fork finds the copies as its own, and no run supersedes them. They have no usage,
// because nobody pays for them again. If there are more or fewer than there must be, the other investigation has changed: then Share
// copies nothing and returns record.ErrChanged.
func (s journal) Share(ctx context.Context, sharing transcript.Sharing) error {
	type stored struct {
		transcript.Entry
		step int64
	}
	fork := sharing.Fork
	fields := func(e *stored) []any { return append(entryFields(&e.Entry), &e.step) }
	const query = `SELECT ` + entryColumns + `, step FROM entries WHERE investigation = $1 AND seq <= $2 ORDER BY seq`
	all, err := selectAll(ctx, s.db.reader, fields, query, sharing.From, sharing.Until)
	if err != nil {
		return doing(s.db.explain(err), "read what %s shares with %s", sharing.From, fork)
	}
	all = slices.DeleteFunc(all, func(e stored) bool { return !sharing.Shares(e.Entry) })
	err = s.write(ctx, fork, func(q querier) error {
		var known bool
		const shared = `SELECT EXISTS (SELECT 1 FROM entries WHERE investigation = $1 AND run_id = '')`
		now, err := advance(ctx, q, fork, cursor{}) // it locks the fork
		if err == nil {
			err = q.QueryRowContext(ctx, shared, fork).Scan(&known)
		}
		if err != nil || known {
			return err
		}
		if len(all) != sharing.Rows {
			return fmt.Errorf("%d entries instead of %d: %w", len(all), sharing.Rows, record.ErrChanged)
		}
		if now, err = advance(ctx, q, fork, cursor{seq: int64(len(all))}); err != nil {
			return err
		}
		steps, next := map[int64]int64{}, now.seq-int64(len(all))
		for _, e := range all {
			next++
			if steps[e.step] == 0 {
				steps[e.step] = next
			}
			copied := e.Entry
			if given, ok := sharing.Given[e.Seq]; ok {
				copied.Body = e.With(given)
			}
			copied.Investigation, copied.Seq, copied.Writer = fork, next, transcript.Writer{}
			copied.Shared, copied.Usage, copied.SummaryUsage = e.Seq, nil, nil
			body, _, err := storedBody(copied.Body)
			if err == nil {
				err = insertBare(ctx, q, steps[e.step], copied, body)
			}
			if err != nil {
				return err
			}
		}
		return shareRest(ctx, q, sharing.From, fork, sharing.Iterations)
	})
	return doing(err, "share entries of %s with %s", sharing.From, fork)
}

// shareRest copies the lists of tools, and notes that the shared parts of executions have used nothing.
func shareRest(ctx context.Context, q querier, from, fork string, iterations map[string]int) error {
	const query = `INSERT INTO catalogues (investigation, execution, server, hash)
		SELECT $2, execution, server, hash FROM catalogues WHERE investigation = $1 AND execution = $3 ON CONFLICT DO NOTHING`
	for _, execution := range slices.Sorted(maps.Keys(iterations)) {
		if _, err := q.ExecContext(ctx, query, from, fork, execution); err != nil {
			return err
		}
		if _, err := q.ExecContext(ctx, chargeSums, append([]any{fork, execution}, usageFields(&agent.Usage{})...)...); err != nil {
			return err
		}
	}
	return nil
}

// storedBody returns a body as a column and as it will be read back, because text from outside may not be UTF-8.
func storedBody(body transcript.Body) (column driver.Value, read transcript.Body, err error) {
	column, err = asJSON(&body).Value()
	if err == nil {
		err = asJSON(&read).Scan(column)
	}
	return column, read, err
}

// Reply returns the reply of one iteration of an execution, of any run. It returns ErrNotFound if there is none, or only superseded
// ones.
func (s journal) Reply(ctx context.Context, scope transcript.Scope, iteration int) (reply transcript.Entry, err error) {
	const query = `SELECT ` + entryColumns + ` FROM entries WHERE superseded = 0 AND investigation = $1 AND execution = $2
		AND iteration = $3 AND kind = '` + string(transcript.KindReply) + `'`
	err = s.db.reader.QueryRowContext(ctx, query, scope.Investigation, scope.Execution, iteration).Scan(entryFields(&reply)...)
	return reply, doing(s.db.explain(notFound(err)), "read reply %d of %s, %s", iteration, scope.Investigation, scope.Execution)
}

const liveColumns = `investigation, execution, iteration, attempt, text, thinking`

func liveFields(l *transcript.Live) []any {
	return []any{&l.Investigation, &l.Execution, &l.Iteration, &l.Attempt, textColumn{&l.Text}, textColumn{&l.Thinking}}
}

// SetLive replaces the live tail of an execution. It is ignored if it comes too late: from an earlier attempt than the stored one,
// or after the reply.
func (s journal) SetLive(ctx context.Context, live transcript.Live) error {
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
func (s journal) HasLive(ctx context.Context, live transcript.Live) (asked bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM live WHERE investigation = $1 AND execution = $2 AND iteration = $3 AND attempt >= $4)`
	err = s.db.reader.QueryRowContext(ctx, query, live.Investigation, live.Execution, live.Iteration, live.Attempt).Scan(&asked)
	return asked, doing(s.db.explain(err), "read live tail of %s, %s", live.Investigation, live.Execution)
}

// dropLive ends the live tail of an execution, and notifies followers if there was one. It does not query for it first, because on
// PostgreSQL it would have to wait for the answer.
func dropLive(ctx context.Context, q querier, scope transcript.Scope) error {
	const (
		ofScope = ` FROM live WHERE investigation = $1 AND execution = $2`
		notify  = `UPDATE cursors SET live = live + 1 WHERE investigation = $1 AND EXISTS (SELECT 1` + ofScope + `)`
	)
	for _, query := range []string{notify, `DELETE` + ofScope} {
		if _, err := q.ExecContext(ctx, query, scope.Investigation, scope.Execution); err != nil {
			return err
		}
	}
	return nil
}

// spoken returns the role of an entry kind that conversation search finds.
func spoken(kind transcript.Kind) (agent.Role, bool) {
	switch kind {
	case transcript.KindUser:
		return agent.User, true
	case transcript.KindReply:
		return agent.Assistant, true
	}
	return "", false
}

// recall makes a step's text searchable for its agent.
func (s journal) recall(ctx context.Context, q querier, by string, entries []transcript.Entry) error {
	if by == "" {
		return nil
	}
	m, err := memories(s).memoryTx(ctx, q, by)
	for _, e := range entries {
		if _, said := spoken(e.Kind); said && e.Text != "" && err == nil {
			err = m.say(ctx, e)
		}
	}
	return err
}

func (m *memoryTx) say(ctx context.Context, e transcript.Entry) error {
	const count = `UPDATE memories SET last_said = last_said + 1 WHERE id = $1 RETURNING last_said`
	var n int64
	if err := m.q.QueryRowContext(ctx, count, m.id).Scan(&n); err != nil {
		return err
	}
	_, err := m.q.ExecContext(ctx, insertInto("recall", "id, investigation, seq"), m.row(n), e.Investigation, e.Seq)
	if err != nil {
		return err
	}
	return m.words.put(ctx, m.q, "recall_words", m.row(n), e.Text)
}

// unsay removes the entries that were superseded with the number struck from conversation search.
func (c claim) unsay(ctx context.Context, q querier, struck int64) error {
	const gone = `investigation = $1 AND seq IN (SELECT seq FROM entries WHERE investigation = $1 AND superseded = $2)`
	_, err := q.ExecContext(ctx, `DELETE FROM recall_words WHERE rowid IN (SELECT id FROM recall WHERE `+gone+`)`, c.Investigation, struck)
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, `DELETE FROM recall WHERE `+gone, c.Investigation, struck)
	return err
}

func (m *memoryTx) SearchConversation(ctx context.Context, query string, page int) ([]memory.Message, error) {
	with, args := m.find("recall_words", query, page)
	if args == nil {
		return nil, nil
	}
	type row struct {
		kind transcript.Kind
		body transcript.Body
	}
	rows, err := selectAll(ctx, m.q, func(r *row) []any { return []any{&r.kind, asJSON(&r.body)} }, with+
		`SELECT kind, body FROM found JOIN recall ON id = found.rowid JOIN entries USING (investigation, seq)
		ORDER BY score DESC, id DESC`, args...)
	var messages []memory.Message
	for _, r := range rows {
		role, _ := spoken(r.kind)
		messages = append(messages, memory.Message{Role: role, Content: r.body.Text})
	}
	return messages, err
}

package store

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// LookupReply returns the state before an iteration's model call: the iteration's step or, if that is not stored, the log as
// Entries returns it. It treats other runs as Lookup does.
func (s journal) LookupReply(ctx context.Context, scope transcript.Scope, iteration int, w transcript.Writer) (transcript.Known, error) {
	return s.LookupSince(ctx, scope, 0, iteration, w)
}

// LookupSince is LookupReply with only the log from an iteration on, and the system prompt if it is among the first iterations. It
// reads no other entries, so a long conversation costs no more than a short one. From 0 means the whole log.
func (s journal) LookupSince(
	ctx context.Context, scope transcript.Scope, from, iteration int, w transcript.Writer,
) (transcript.Known, error) {
	key := transcript.Key{Iteration: iteration}
	c := claim{scope, key, w.RunID}
	return s.known(ctx, c, key, func() (transcript.Known, bool, error) { return s.readLog(ctx, c, from) })
}

// LookupCall returns the state before the n-th call of a reply: the call's result or, if that is not stored, the reply (of any run)
// and the call's intent if the same run has appended it as a step of one row. It treats other runs like a Lookup of the intent,
// whose claim covers the result.
func (s journal) LookupCall(ctx context.Context, scope transcript.Scope, iteration, n int, w transcript.Writer) (transcript.Known, error) {
	intent, result := transcript.CallKey(iteration, n), transcript.ResultKey(iteration, n)
	const ofCall = ` AND iteration = $4
		AND (kind = '` + string(transcript.KindReply) + `' OR ` + isOwn + ` AND step = seq AND position IN ($5, $9))`
	c := claim{scope, intent, w.RunID}
	return s.known(ctx, c, result, func() (k transcript.Known, final bool, err error) {
		k, final, _, err = s.readKnown(ctx, c, ofCall, result.Position)
		return k, final, err
	})
}

// Begun reports whether any run, including one that was reset, has appended the intent of a call that the reply with that number
// asks for.
func (s journal) Begun(ctx context.Context, scope transcript.Scope, call transcript.Key, reply int64) (begun bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM entries WHERE investigation = $1 AND seq > $2
		AND execution = $3 AND iteration = $4 AND position = $5 AND kind = '` + string(transcript.KindCall) + `')`
	err = s.db.reader.QueryRowContext(ctx, query, scope.Investigation, reply, scope.Execution, call.Iteration, call.Position).Scan(&begun)
	return begun, doing(s.db.explain(err), "look up call %d/%d of %s, %s",
		call.Iteration, call.Position, scope.Investigation, scope.Execution)
}

// known returns the result of read and the step at a key. It needs a single read, unless the step is stored, nothing is stored, or
// the claim must be enforced.
func (s journal) known(
	ctx context.Context, c claim, step transcript.Key, read func() (k transcript.Known, final bool, err error),
) (k transcript.Known, err error) {
	defer func() { err = doing(err, "look up %s", c) }()
	if err := c.check(); err != nil {
		return k, err
	}
	k, final, err := read()
	if err == nil && !final {
		if _, err = s.lookup(ctx, c); err == nil && k.Log != nil {
			k, _, err = read()
		}
		if err == nil && k.Log == nil {
			err = s.readBare(ctx, c, &k)
		}
	}
	if err != nil {
		return transcript.Known{}, err
	}
	own := func(e transcript.Entry) bool { return e.Key == step && (e.Writer.RunID == c.run || e.Shared > 0) }
	if slices.ContainsFunc(k.Log, own) {
		k.Step, err = s.lookup(ctx, claim{c.Scope, step, c.run})
	}
	return k, err
}

// opening is how many iterations of a conversation can hold its system prompt: the first call may fail a few times.
const opening = "20"

// readLog reads everything known about an execution from an iteration on; for a cached log, only the new part.
func (s journal) readLog(ctx context.Context, c claim, from int) (k transcript.Known, final bool, err error) {
	var struck int64
	if kept := s.logs.get(c.Scope); kept.last.Seq > 0 && kept.from == from {
		k, final, struck, err = s.readKnown(ctx, c, ` AND seq >= $9 AND iteration >= $10`, kept.last.Seq, kept.since())
		if err != nil {
			return k, final, err
		}
		if slices.ContainsFunc(k.Log, kept.isLast) && struck == kept.struck { // a store that was set back may lack the last entry
			k.Log = kept.with(k.Log)
			s.logs.keep(c.Scope, k.Log, from, struck)
			return k, final, nil
		}
	}
	if from > 0 {
		k, final, struck, err = s.readKnown(ctx, c, ` AND iteration >= $9`, from)
		if err == nil && k.Log != nil {
			var first transcript.Known
			first, _, _, err = s.readKnown(ctx, c, isSystemPrompt)
			k.Log = append(first.Log, k.Log...)
		}
	} else {
		k, final, struck, err = s.readKnown(ctx, c, "")
	}
	if k.Log = slices.Clip(k.Log); err == nil {
		s.logs.keep(c.Scope, k.Log, from, struck)
	}
	return k, final, err
}

// isSystemPrompt is the condition for the system prompt of a conversation. It is read separately, because both conditions are ranges of
// the index, and one query for both would read the whole log.
const isSystemPrompt = ` AND iteration <= ` + opening + ` AND kind = '` + string(transcript.KindSystem) + `'`

// readKnown also returns whether the claim is settled, and how often entries of the investigation were superseded. Without entries
// it cannot know.
func (s journal) readKnown(
	ctx context.Context, c claim, which string, args ...any,
) (k transcript.Known, final bool, struck int64, err error) {
	query := `SELECT ` + entryColumns + `, ` + isNewest + ` AND NOT ` + isDisplacing + `, ` + hashList + `, ` + countUnread(7) + `,
		(SELECT struck FROM cursors WHERE investigation = $1)
		FROM entries WHERE superseded = 0 AND investigation = $1 AND execution = $2` + which + ` ORDER BY iteration, position`
	var hashes string
	fields := func(e *transcript.Entry) []any { // the last four are the same in every row
		return append(entryFields(e), &final, &hashes, &k.Unread, &struck)
	}
	k.Log, err = selectAll(ctx, s.db.reader, fields, query, slices.Concat(c.args(), reader(c.Execution), args)...)
	k.Catalogues = strings.Fields(hashes)
	return k, final, struck, s.db.explain(err)
}

// hashList selects the hashes of the catalogues of an execution's servers.
const hashList = `COALESCE((SELECT string_agg(hash, ' ' ORDER BY server) FROM catalogues WHERE investigation = $1 AND execution = $2), '')`

// readBare reads the known state of an execution, except its entries.
func (s journal) readBare(ctx context.Context, c claim, k *transcript.Known) error {
	var hashes string
	args := append([]any{c.Investigation, c.Execution}, reader(c.Execution)...)
	err := s.db.reader.QueryRowContext(ctx, `SELECT `+hashList+`, `+countUnread(3), args...).Scan(&hashes, &k.Unread)
	k.Catalogues = strings.Fields(hashes)
	return s.db.explain(err)
}

// claim is the right of a run to read or write a step. The run must be the newest one of the execution, and no row of another run
// may be at the step or depend on it.
type claim struct {
	transcript.Scope
	transcript.Key
	run string
}

// Conditions on a claim's args.
const (
	// isOwn matches the entries of the claim's run, and those that the investigation shares with another one: they have no run, and
	// belong to all of them.
	isOwn        = `run_id IN ($3, '')`
	isNewest     = `COALESCE((SELECT run_id FROM runs WHERE investigation = $1 AND execution = $2 ORDER BY ordinal DESC LIMIT 1), '') = $3`
	isDisplacing = `EXISTS (SELECT 1 FROM entries WHERE ` + inTheWay + `)`
	// inTheWay matches an entry of another run that is at the step or depends on it. The log may be long, so the index is read from
	// the iteration on.
	inTheWay = `investigation = $1 AND execution = $2 AND superseded = 0 AND NOT ` + isOwn + `
		AND iteration >= $4 AND (iteration > $4 OR position >= $5 AND position < $6)`
)

// args returns $1 to $6 of the conditions.
func (c claim) args() []any {
	return []any{c.Investigation, c.Execution, c.run, c.Iteration, c.Position, c.Until()}
}

// standing is the state of a claim before it is enforced.
type standing struct {
	known    bool // the run has been registered
	newest   bool // no later run is registered
	displace bool // rows of other runs conflict with it
	stored   bool // the run has already written the step
	live     bool // the execution has a live tail
	unread   int  // unread letters for the execution
}

func (st standing) stale() bool { return st.known && !st.newest }
func (st standing) owned() bool { return st.newest && !st.displace }

func (st *standing) fields() []any {
	return []any{&st.known, &st.newest, &st.displace, &st.stored, &st.live, &st.unread}
}

func (c claim) standing(ctx context.Context, q querier) (st standing, err error) {
	err = c.ask(ctx, q).Scan(st.fields()...)
	return st, err
}

// ask is standing for a caller that adds queries before it scans the fields.
func (c claim) ask(ctx context.Context, q querier) *sql.Row {
	query := `SELECT
		EXISTS (SELECT 1 FROM runs WHERE investigation = $1 AND execution = $2 AND run_id = $3),
		` + isNewest + `,
		` + isDisplacing + `,
		EXISTS (SELECT 1 FROM entries WHERE investigation = $1 AND execution = $2 AND superseded = 0
			AND iteration = $4 AND position = $5 AND ` + isOwn + ` AND step = seq),
		EXISTS (SELECT 1 FROM live WHERE investigation = $1 AND execution = $2),
		` + countUnread(7)
	return q.QueryRowContext(ctx, query, append(c.args(), reader(c.Execution)...)...)
}

// untouched reports whether the claim holds for the step and all later steps, and nothing is stored there.
func (c claim) untouched(ctx context.Context, q querier) (untouched bool, err error) {
	const query = `SELECT ` + isNewest + ` AND NOT EXISTS (SELECT 1 FROM entries WHERE investigation = $1 AND execution = $2
		AND superseded = 0 AND iteration >= $4 AND (iteration > $4 OR position >= $5))`
	if err := c.check(); err != nil {
		return false, err
	}
	err = q.QueryRowContext(ctx, query, c.Investigation, c.Execution, c.run, c.Iteration, c.Position).Scan(&untouched)
	return untouched, err
}

// enforce makes the claim hold, or returns ErrStaleRun. It needs the write lock and leaves the run's own rows unchanged.
func (c claim) enforce(ctx context.Context, q querier) (standing, error) {
	st, err := c.present(ctx, q)
	if err == nil && st.displace {
		err = c.supersede(ctx, q)
	}
	return st, err
}

// present is enforce for writes that are not steps: it supersedes no rows.
func (c claim) present(ctx context.Context, q querier) (standing, error) {
	st, err := c.standing(ctx, q)
	switch {
	case err != nil:
		return st, err
	case st.stale():
		return st, ErrStaleRun
	case st.known:
		return st, nil
	}
	return st, c.register(ctx, q)
}

// register makes the run the newest one and drops the live tail of an older run.
func (c claim) register(ctx context.Context, q querier) error {
	const query = `INSERT INTO runs (investigation, execution, ordinal, run_id)
		SELECT $1, $2, COALESCE(MAX(ordinal), 0) + 1, $3 FROM runs WHERE investigation = $1 AND execution = $2`
	if _, err := q.ExecContext(ctx, query, c.Investigation, c.Execution, c.run); err != nil {
		return err
	}
	return dropLive(ctx, q, c.Scope)
}

// supersede marks the rows of other runs at the step and the rows that depend on it, because Temporal was reset to a point before
// the step. Calls of one reply do not depend on each other: a call stays if its result is in the history that was kept.
func (c claim) supersede(ctx context.Context, q querier) error {
	now, err := advance(ctx, q, c.Investigation, cursor{struck: 1})
	if err != nil {
		return err
	}
	const query = `UPDATE entries SET superseded = $7 WHERE ` + inTheWay
	if _, err = q.ExecContext(ctx, query, append(c.args(), now.struck)...); err != nil {
		return err
	}
	return c.unsay(ctx, q, now.struck)
}

// logs caches the logs of executions that LookupReply read last. Entries never change, so the next read of a log begins with its
// last entry, unless some were superseded meanwhile.
type logs struct {
	mu    sync.Mutex
	kept  map[transcript.Scope]*keptLog
	bytes int
	uses  int
}

type keptLog struct {
	entries []transcript.Entry // in key order; shared by readers and never changed
	last    transcript.Mark    // of the entry with the highest Seq
	from    int                // the first iteration that was read; 0 means all
	struck  int64              // the investigation's cursor value when they were read
	bytes   int
	used    int // higher means used more recently
}

func (k keptLog) isLast(e transcript.Entry) bool { return e.Mark() == k.last }

// since is an iteration at or before those of all later entries. In a long conversation, it keeps the database from reading the whole
// log. Other executions also get entries of earlier iterations, such as summaries.
func (k keptLog) since() int {
	if k.from == 0 {
		return math.MinInt32
	}
	return k.from
}

// maxLogs bounds the cache, in bytes of text.
const maxLogs = 16 << 20

// get returns the log of an execution, or the zero value if it is not cached.
func (l *logs) get(scope transcript.Scope) keptLog {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept, known := l.kept[scope]
	if !known {
		return keptLog{}
	}
	l.uses++
	kept.used = l.uses
	return *kept
}

// keep caches a log and drops the least recently used ones.
func (l *logs) keep(scope transcript.Scope, entries []transcript.Entry, from int, struck int64) {
	next := &keptLog{entries: entries, from: from, struck: struck}
	for _, e := range entries {
		const rest = 1000 // approximately
		if e.Seq > next.last.Seq {
			next.last = e.Mark()
		}
		next.bytes += len(e.Text) + len(e.Thinking) + len(e.ProviderState) + len(e.Details) + rest
		if e.Call != nil {
			next.bytes += len(e.Call.Arguments)
		}
		for _, call := range e.Calls {
			next.bytes += len(call.Arguments)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(scope)
	if len(entries) == 0 || next.bytes > maxLogs/4 {
		return
	}
	for l.bytes+next.bytes > maxLogs {
		l.drop(l.oldest())
	}
	l.uses++
	next.used = l.uses
	if l.kept == nil {
		l.kept = map[transcript.Scope]*keptLog{}
	}
	l.kept[scope] = next
	l.bytes += next.bytes
}

func (l *logs) oldest() (scope transcript.Scope) {
	used := l.uses + 1
	// any order: no two have the same use
	for s, kept := range l.kept {
		if kept.used < used {
			scope, used = s, kept.used
		}
	}
	return scope
}

func (l *logs) drop(scope transcript.Scope) {
	if kept, known := l.kept[scope]; known {
		l.bytes -= kept.bytes
		delete(l.kept, scope)
	}
}

// forget drops the logs of an ended investigation.
func (l *logs) forget(investigation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for scope := range l.kept {
		if scope.Investigation == investigation {
			l.drop(scope)
		}
	}
}

// with appends the entries that were read after the log's last one. It copies the log only if there are any.
func (k keptLog) with(read []transcript.Entry) []transcript.Entry {
	all := slices.Clip(k.entries)
	for _, e := range read {
		if e.Seq > k.last.Seq {
			all = append(all, e)
		}
	}
	if len(all) > len(k.entries) {
		slices.SortFunc(all, func(a, b transcript.Entry) int { return a.Key.Compare(b.Key) })
	}
	return slices.Clip(all)
}

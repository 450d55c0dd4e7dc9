package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

const threadColumns = `id, workflow_id, agent, project, about, turns, started_at, active_at, ended_at`

func threadFields(t *record.Thread) []any {
	return []any{&t.ID, &t.WorkflowID, textColumn{&t.Agent}, projectColumn{&t.Project}, &t.About, &t.Turns,
		timeColumn{&t.StartedAt}, timeColumn{&t.ActiveAt}, endColumn{&t.EndedAt}}
}

// SaveThread records a conversation that has begun. A second call changes nothing.
func (s threads) SaveThread(ctx context.Context, t record.Thread) error {
	t.ActiveAt = latest(t.ActiveAt, t.StartedAt)
	err := s.write(ctx, "", func(q querier) error {
		_, err := q.ExecContext(ctx, insertInto("threads", threadColumns)+`ON CONFLICT DO NOTHING`, threadFields(&t)...)
		return err
	})
	return doing(err, "record the conversation %s", t.ID)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// EndThread records that a conversation has ended. The first call counts.
func (s threads) EndThread(ctx context.Context, id string, at time.Time) error {
	err := s.write(ctx, "", func(q querier) error {
		_, err := q.ExecContext(ctx, `UPDATE threads SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL`, id, timeColumn{&at})
		return err
	})
	return doing(err, "record the end of the conversation %s", id)
}

// SaveTurn records a turn of a conversation and makes its texts searchable. A second call of the same run changes nothing. The turn of
// another run with the same number is replaced together with all later ones, because Temporal was reset to a point before it. It
// returns ErrNotFound if the conversation is not recorded.
func (s threads) SaveTurn(ctx context.Context, thread string, t record.Turn) error {
	err := s.write(ctx, "", func(q querier) error {
		const update = `UPDATE threads SET turns = $2, active_at = $3 WHERE id = $1 AND ($2 > turns
			OR NOT EXISTS (SELECT 1 FROM turns WHERE thread = $1 AND n = $2 AND run_id = $4))`
		if did, err := changed(q.ExecContext(ctx, update, thread, t.N, timeColumn{&t.At}, t.Run)); err != nil || !did {
			if err == nil {
				_, err = threadOf(ctx, q, thread)
			}
			return err
		}
		if err := deleteTurns(ctx, q, thread, t.N); err != nil {
			return err
		}
		var id int64
		err := q.QueryRowContext(ctx, insertInto("turns", "thread, n, message, run_id, turn")+`RETURNING id`,
			thread, t.N, t.Message, t.Run, asJSON(&t)).Scan(&id)
		if err != nil {
			return err
		}
		texts, err := textsOf(ctx, q, thread, t)
		if err != nil {
			return err
		}
		return s.db.words().put(ctx, q, "turn_words", id, strings.Join(texts, "\n"))
	})
	return doing(err, "record turn %d of %s", t.N, thread)
}

// deleteTurns deletes the turns of a conversation from a number on.
func deleteTurns(ctx context.Context, q querier, thread string, from int) error {
	for _, query := range []string{
		`DELETE FROM turn_words WHERE rowid IN (SELECT id FROM turns WHERE thread = $1 AND n >= $2)`,
		`DELETE FROM turns WHERE thread = $1 AND n >= $2`,
	} {
		if _, err := q.ExecContext(ctx, query, thread, from); err != nil {
			return err
		}
	}
	return nil
}

// textsOf returns what people wrote in a turn, and the texts of the replies.
func textsOf(ctx context.Context, q querier, thread string, t record.Turn) ([]string, error) {
	const query = `SELECT ` + entryColumns + ` FROM entries WHERE superseded = 0 AND investigation = $1 AND execution = $2
		AND iteration >= $3 AND iteration <= $4 AND kind IN ('` + string(transcript.KindUser) + `', '` + string(transcript.KindReply) + `')
		ORDER BY iteration, position`
	entries, err := selectAll(ctx, q, entryFields, query, thread, t.Execution, t.First, t.Last)
	var texts []string
	for _, e := range entries {
		if e.Text != "" && (e.By != "" || e.Kind == transcript.KindReply) {
			texts = append(texts, e.Text)
		}
	}
	return texts, err
}

func turnFields(t *record.Turn) []any { return []any{&t.N, &t.Message, &t.Run, asJSON(t)} }

// TurnOf returns the turn that answered a message, or ErrNotFound.
func (s threads) TurnOf(ctx context.Context, thread, message string) (t record.Turn, err error) {
	const query = `SELECT n, message, run_id, turn FROM turns WHERE thread = $1 AND message = $2 AND message <> '' LIMIT 1`
	err = s.db.reader.QueryRowContext(ctx, query, thread, message).Scan(turnFields(&t)...)
	return t, doing(s.db.explain(notFound(err)), "look for message %s of %s", message, thread)
}

// Thread returns the conversation with that ID, or else the latest one with that name, or ErrNotFound.
func (s threads) Thread(ctx context.Context, id string) (record.Thread, error) {
	t, err := threadOf(ctx, s.db.reader, id)
	return t, doing(s.db.explain(err), "find conversation %s", id)
}

func threadOf(ctx context.Context, q querier, id string) (t record.Thread, err error) {
	const query = `SELECT ` + threadColumns + ` FROM threads WHERE workflow_id = $1 OR id = $1
		ORDER BY id = $1 DESC, started_at DESC, id DESC LIMIT 1`
	err = q.QueryRowContext(ctx, query, id).Scan(threadFields(&t)...)
	return t, notFound(err)
}

// Namesakes returns the IDs of all conversations with a name, newest first.
func (s threads) Namesakes(ctx context.Context, name string) ([]string, error) {
	const query = `SELECT id FROM threads WHERE workflow_id = $1 ORDER BY started_at DESC, id DESC`
	ids, err := selectAll(ctx, s.db.reader, func(id *string) []any { return []any{id} }, query, name)
	return ids, doing(s.db.explain(err), "find conversations %s", name)
}

// Threads returns conversations, newest first. It ignores the filter's Words.
func (s threads) Threads(ctx context.Context, f record.ThreadFilter) ([]record.Thread, error) {
	where, args := threadsWhere(f, nil)
	query := `SELECT ` + threadColumns + ` FROM threads WHERE ` + where + ` ORDER BY started_at DESC, id DESC` + limitTo(f.Limit)
	all, err := selectAll(ctx, s.db.reader, threadFields, query, args...)
	return all, doing(s.db.explain(err), "list conversations")
}

// threadsWhere returns the condition of a filter. Its placeholders follow those of args.
func threadsWhere(f record.ThreadFilter, args []any) (string, []any) {
	where := []string{"1 = 1"}
	and := func(condition string, values ...any) {
		var names []any
		for _, value := range values {
			args = append(args, value)
			names = append(names, len(args))
		}
		where = append(where, fmt.Sprintf(condition, names...))
	}
	if f.Projects != nil {
		in := []string{"NULL"}
		for _, name := range f.Projects {
			args = append(args, cmp.Or(name, agent.DefaultProject))
			in = append(in, fmt.Sprintf("$%d", len(args)))
		}
		where = append(where, "project IN ("+strings.Join(in, ", ")+")")
	}
	if f.Agent != "" {
		and("agent = $%d", f.Agent)
	}
	if f.About != "" {
		and("about = $%d AND about <> ''", f.About)
	}
	if f.Before.ID != "" {
		and("(started_at, id) < ($%d, $%d)", timeColumn{&f.Before.StartedAt}, f.Before.ID)
	}
	return strings.Join(where, " AND "), args
}

// FindTurns returns the turns with all of the filter's words, the best matches first.
func (s threads) FindTurns(ctx context.Context, f record.ThreadFilter) (found []record.FoundTurn, err error) {
	words := memory.Words(f.Words)
	if len(words) == 0 {
		return nil, nil
	}
	index := s.db.words()
	where, args := threadsWhere(f, []any{index.allOf(words), 0, int64(math.MaxInt64)})
	query := `WITH found AS (` + index.ranked("turn_words") + `),
		hits AS (SELECT thread, n, message, run_id, turn, score FROM found JOIN turns ON turns.id = found.rowid)
		SELECT ` + threadColumns + `, n, message, run_id, turn FROM hits JOIN threads ON threads.id = hits.thread
		WHERE ` + where + ` ORDER BY score DESC, active_at DESC, n DESC` + limitTo(f.Limit)
	err = s.read(ctx, func(q querier) error {
		fields := func(t *record.FoundTurn) []any { return append(threadFields(&t.Thread), turnFields(&t.Turn)...) }
		if found, err = selectAll(ctx, q, fields, query, args...); err != nil {
			return err
		}
		for n := range found {
			if found[n].Texts, err = textsOf(ctx, q, found[n].Thread.ID, found[n].Turn); err != nil {
				return err
			}
		}
		return nil
	})
	return found, doing(err, "search conversations")
}

// ofThread are the tables whose rows belong to a conversation alone, by the column with its ID. The audit trail stays: its hashes
// would not match without a row.
var ofThread = [][2]string{
	{"entries", "investigation"}, {"runs", "investigation"}, {"cursors", "investigation"}, {"live", "investigation"},
	{"ledger", "investigation"}, {"ledger_reserved", "investigation"}, {"execution_sums", "investigation"},
	{"extensions", "investigation"}, {"catalogues", "investigation"}, {"mail", "investigation"}, {"readings", "investigation"},
	{"waiting", "investigation"}, {"past_calls", "investigation"}, {"learning_reads", "investigation"}, {"threads", "id"},
}

// DeleteThread deletes a conversation with everything that belongs to it, and records the act. It returns ErrNotFound if the
// conversation is not recorded. Its workflow must have ended. Texts that other executions refer to as well are kept.
func (s threads) DeleteThread(ctx context.Context, id string, act audit.Act) error {
	blobs, err := s.ownBlobs(ctx, id)
	if err != nil {
		return doing(s.db.explain(err), "find the texts of the conversation %s", id)
	}
	err = s.write(ctx, id, func(q querier) error {
		did, err := changed(q.ExecContext(ctx, `DELETE FROM threads WHERE id = $1`, id))
		switch {
		case err != nil:
			return err
		case !did:
			return ErrNotFound
		}
		if err := deleteTurns(ctx, q, id, 0); err != nil {
			return err
		}
		const said = `DELETE FROM recall_words WHERE rowid IN (SELECT id FROM recall WHERE investigation = $1)`
		for _, query := range []string{said, `DELETE FROM recall WHERE investigation = $1`} {
			if _, err := q.ExecContext(ctx, query, id); err != nil {
				return err
			}
		}
		for _, t := range ofThread {
			if _, err := q.ExecContext(ctx, `DELETE FROM `+t[0]+` WHERE `+t[1]+` = $1`, id); err != nil {
				return err
			}
		}
		for _, hash := range blobs {
			if _, err := q.ExecContext(ctx, `DELETE FROM blobs WHERE hash = $1`, hash); err != nil {
				return err
			}
		}
		return s.addActs(ctx, q, []audit.Act{act})
	})
	s.logs.forget(id)
	return doing(err, "delete the conversation %s", id)
}

// blobNames matches the names of blobs in an entry's body as JSON.
var blobNames = regexp.MustCompile(`"[0-9a-f]{32}"`)

// ownBlobs returns the blobs that only the entries of a conversation refer to. Skills belong to plans, so their texts stay.
func (s threads) ownBlobs(ctx context.Context, id string) (own []string, err error) {
	const ofEntries = `SELECT ` + entryColumns + ` FROM entries WHERE investigation = $1 AND kind = $2
		AND (body LIKE '%"blob":"%' OR body LIKE '%"artifacts":[%')`
	entries, err := selectAll(ctx, s.db.reader, entryFields, ofEntries, id, transcript.KindResult)
	for _, e := range entries {
		if e.Call != nil && slices.Contains(agent.SkillTools(), e.Call.Name) {
			continue
		}
		own = append(own, e.Artifacts...)
		if e.Blob != "" {
			own = append(own, e.Blob)
		}
	}
	slices.Sort(own)
	own = slices.DeleteFunc(slices.Compact(own), func(name string) bool { return !blobNames.MatchString(`"` + name + `"`) })
	if err != nil || len(own) == 0 {
		return nil, err
	}
	shared, err := s.sharedBlobs(ctx, id, own)
	return slices.DeleteFunc(own, func(hash string) bool { return slices.Contains(shared, hash) }), err
}

// sharedBlobs returns which of some blobs anything outside a conversation refers to.
func (s threads) sharedBlobs(ctx context.Context, id string, hashes []string) (shared []string, err error) {
	text := func(to *string) []any { return []any{to} }
	for some := range slices.Chunk(hashes, 50) {
		args, like, in := []any{id}, []string{}, places(len(some)+1)
		for _, hash := range some {
			args = append(args, hash)
			like = append(like, `body LIKE '%"`+hash+`"%'`)
		}
		bodies, err := selectAll(ctx, s.db.reader, text, `SELECT body FROM entries WHERE investigation <> $1 AND (`+
			strings.Join(like, " OR ")+`)`, id)
		if err != nil {
			return nil, err
		}
		for _, name := range blobNames.FindAllString(strings.Join(bodies, " "), -1) {
			shared = append(shared, strings.Trim(name, `"`))
		}
		in = strings.TrimPrefix(in, "$1, ")
		named, err := selectAll(ctx, s.db.reader, text, `SELECT data_hash FROM investigations WHERE $1 <> '' AND data_hash IN (`+in+`)
			UNION SELECT plan_hash FROM investigations WHERE plan_hash IN (`+in+`)
			UNION SELECT hash FROM catalogues WHERE hash IN (`+in+`) UNION SELECT hash FROM offers WHERE hash IN (`+in+`)`, args...)
		if err != nil {
			return nil, err
		}
		shared = append(shared, named...)
	}
	return shared, nil
}

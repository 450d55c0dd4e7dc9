package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/knowledge/memory"
)

// memoryTx is one agent's memory within a transaction.
type memoryTx struct {
	q     querier
	id    int64 // ID of the memory
	words wordIndex
}

// row returns the row ID for a number within the memory.
func (m *memoryTx) row(number int64) int64 { return m.id<<32 | number }

const blockColumns = `label, value, description, char_limit, read_only`

func blockFields(b *memory.Block) []any {
	return []any{textColumn{&b.Label}, textColumn{&b.Value}, textColumn{&b.Description}, &b.Limit, &b.ReadOnly}
}

// storedBlock returns a block as it will be read back.
func storedBlock(b memory.Block) memory.Block {
	for _, text := range []*string{&b.Label, &b.Value, &b.Description} {
		*text = storedText(*text)
	}
	return b
}

func (m *memoryTx) Block(ctx context.Context, label string) (b memory.Block, found bool, err error) {
	const query = `SELECT ` + blockColumns + ` FROM memory_blocks WHERE memory = $1 AND label = $2`
	err = m.q.QueryRowContext(ctx, query, m.id, textColumn{&label}).Scan(blockFields(&b)...)
	if errors.Is(err, sql.ErrNoRows) {
		return b, false, nil
	}
	return b, err == nil, err
}

func (m *memoryTx) Blocks(ctx context.Context) ([]memory.Block, error) {
	const query = `SELECT ` + blockColumns + ` FROM memory_blocks WHERE memory = $1 ORDER BY ordinal`
	return selectAll(ctx, m.q, blockFields, query, m.id)
}

func (m *memoryTx) PutBlock(ctx context.Context, b memory.Block) error {
	const query = `INSERT INTO memory_blocks (memory, ordinal, ` + blockColumns + `)
		SELECT $1, COALESCE(MAX(ordinal), 0) + 1, $2, $3, $4, $5, $6 FROM memory_blocks WHERE memory = $1
		ON CONFLICT (memory, label) DO UPDATE SET value = excluded.value, description = excluded.description,
			char_limit = excluded.char_limit, read_only = excluded.read_only`
	_, err := m.q.ExecContext(ctx, query, append([]any{m.id}, blockFields(&b)...)...)
	return err
}

func (m *memoryTx) DeleteBlock(ctx context.Context, label string) (bool, error) {
	return changed(m.q.ExecContext(ctx, `DELETE FROM memory_blocks WHERE memory = $1 AND label = $2`, m.id, textColumn{&label}))
}

// DeleteArchival deletes an entry. Its number is never used again.
func (m *memoryTx) DeleteArchival(ctx context.Context, id int64) (bool, error) {
	if id < 1 || id >= 1<<32 { // higher numbers would be rows of another agent
		return false, nil
	}
	there, err := changed(m.q.ExecContext(ctx, `DELETE FROM archival WHERE id = $1`, m.row(id)))
	if err != nil || !there {
		return false, err
	}
	if _, err := m.q.ExecContext(ctx, `DELETE FROM archival_words WHERE rowid = $1`, m.row(id)); err != nil {
		return false, err
	}
	_, err = m.q.ExecContext(ctx, `UPDATE memories SET archived = archived - 1 WHERE id = $1`, m.id)
	return true, err
}

func (m *memoryTx) CountArchival(ctx context.Context) (n int, err error) {
	err = m.q.QueryRowContext(ctx, `SELECT archived FROM memories WHERE id = $1`, m.id).Scan(&n)
	return n, err
}

func (m *memoryTx) InsertArchival(ctx context.Context, content string) (id int64, err error) {
	const count = `UPDATE memories SET archived = archived + 1, last_archived = last_archived + 1 WHERE id = $1 RETURNING last_archived`
	if err := m.q.QueryRowContext(ctx, count, m.id).Scan(&id); err != nil {
		return 0, err
	}
	return id, m.putEntry(ctx, memory.Entry{ID: id, Content: content, At: time.Now()})
}

func (m *memoryTx) putEntry(ctx context.Context, e memory.Entry) error {
	_, err := m.q.ExecContext(ctx, `INSERT INTO archival (id, at, content) VALUES ($1, $2, $3)`,
		m.row(e.ID), timeColumn{&e.At}, textColumn{&e.Content})
	if err != nil {
		return err
	}
	return m.words.put(ctx, m.q, "archival_words", m.row(e.ID), e.Content)
}

const entryOfArchival = `id & 4294967295, content, at` // the number within the row ID

func archivalFields(e *memory.Entry) []any {
	return []any{&e.ID, textColumn{&e.Content}, timeColumn{&e.At}}
}

func (m *memoryTx) SearchArchival(ctx context.Context, query string, page int) ([]memory.Entry, error) {
	with, args := m.find("archival_words", query, page)
	if args == nil {
		return nil, nil
	}
	return selectAll(ctx, m.q, archivalFields, with+
		`SELECT `+entryOfArchival+` FROM found JOIN archival ON id = found.rowid ORDER BY score DESC, id DESC`, args...)
}

// find returns the beginning of a query that selects one page of matches in the memory: the rows "found" of an index of words, with
// "rowid" and "score". args is empty if there is nothing to search for.
func (m *memoryTx) find(index, query string, page int) (with string, args []any) {
	words := memory.Query(query)
	if len(words) == 0 || page < 0 {
		return "", nil
	}
	args = []any{m.words.anyOf(words), m.row(0), m.row(1<<32 - 1), memory.PageSize, int64(page) * memory.PageSize}
	return `WITH found AS (` + m.words.ranked(index) + ` LIMIT $4 OFFSET $5) `, args
}

// wordIndex is the way in which a database indexes and finds words.
type wordIndex struct {
	insert func(index string) string // statement: ID $1, words $2
	all    func(words []string) string
	anyOf  func(words []string) string
	allOf  func(words []string) string
	// ranked selects rowid and score of the rows from $2 to $3 that match $1, best first, and newest first among equals.
	ranked func(index string) string
	// set writes distinct words whose order does not matter. newest selects rowid and true for the rows from $2 to below $3 that
	// match $1, highest first. recent, if needed, selects rows together with whether they match; it is fast for frequent words.
	// among is the condition that an investigation's index row is in a JSON list.
	set    func(words []string) string
	newest func(index string) string
	recent func(index string) string
	among  string
}

// put indexes a text. A text without words cannot be found.
func (w wordIndex) put(ctx context.Context, q querier, index string, id int64, text string) error {
	words := memory.Words(text)
	if len(words) == 0 {
		return nil
	}
	_, err := q.ExecContext(ctx, w.insert(index), id, w.all(words))
	return err
}

// words uses FTS5, ranked by bm25. A memory's IDs are a range of rowids that FTS5 can seek, so other memories are not read.
func (db *sqliteFile) words() wordIndex {
	return wordIndex{
		insert: func(index string) string { return `INSERT INTO ` + index + ` (rowid, words) VALUES ($1, $2)` },
		all:    func(words []string) string { return strings.Join(words, " ") },
		allOf:  func(words []string) string { return `"` + strings.Join(words, `" "`) + `"` },
		anyOf:  func(words []string) string { return `"` + strings.Join(words, `" OR "`) + `"` },
		ranked: func(index string) string {
			return fmt.Sprintf(`SELECT rowid, -rank AS score FROM %[1]s WHERE %[1]s MATCH $1 AND rowid BETWEEN $2 AND $3
				ORDER BY rank, rowid DESC`, index)
		},
		set: func(words []string) string { return strings.Join(words, " ") },
		newest: func(index string) string {
			return fmt.Sprintf(`SELECT rowid, true FROM %[1]s WHERE %[1]s MATCH $1 AND rowid >= $2 AND rowid < $3
				ORDER BY rowid DESC`, index)
		},
		among: ` AND id IN (SELECT investigation FROM investigation_texts WHERE n IN (SELECT value FROM json_each($%d)))`,
	}
}

func (db *sqliteFile) forUpdate() string { return "" } // the write transaction locks the whole file

func (db *sqliteFile) each(argument int) string { return fmt.Sprintf(`json_each($%d)`, argument) }

// words uses tsvector, ranked by ts_rank with a small penalty for longer texts. (The normalization options of ts_rank would rank a
// short text with one word above a long one with two.) The lexemes are written out, which avoids parsers and dictionaries.
func (db *postgres) words() wordIndex {
	return wordIndex{
		insert: func(index string) string {
			return `INSERT INTO ` + index + ` (rowid, words) VALUES ($1, CAST($2 AS TEXT)::TSVECTOR)`
		},
		all:   vector,
		anyOf: func(words []string) string { return `'` + strings.Join(words, `' | '`) + `'` },
		allOf: func(words []string) string { return `'` + strings.Join(words, `' & '`) + `'` },
		ranked: func(index string) string {
			const wanted = `CAST($1 AS TEXT)::TSQUERY`
			return `SELECT rowid, ts_rank(words, ` + wanted + `) / (1 + 0.1 * ln(length(words))) AS score FROM ` + index +
				` WHERE words @@ ` + wanted + ` AND rowid BETWEEN $2 AND $3 ORDER BY score DESC, rowid DESC`
		},
		set: func(words []string) string { return `'` + strings.Join(words, `' '`) + `'` },
		newest: func(index string) string { // materialized, because walking the rows by ID reads the words of each
			return `WITH found AS MATERIALIZED (SELECT rowid FROM ` + index + ` WHERE words @@ CAST($1 AS TEXT)::TSQUERY)
				SELECT rowid, true FROM found WHERE rowid >= $2 AND rowid < $3 ORDER BY rowid DESC`
		},
		recent: func(index string) string {
			return `SELECT rowid, words @@ CAST($1 AS TEXT)::TSQUERY FROM ` + index + `
				WHERE rowid >= $2 AND rowid < $3 ORDER BY rowid DESC`
		},
		among: ` AND id IN (SELECT investigation FROM investigation_texts WHERE n IN
			(SELECT CAST(value AS BIGINT) FROM jsonb_array_elements_text(CAST($%d AS JSONB))))`,
	}
}

func (db *postgres) forUpdate() string { return "FOR UPDATE" }

func (db *postgres) each(argument int) string {
	return fmt.Sprintf(`jsonb_array_elements_text(CAST($%d AS JSONB))`, argument)
}

// maxPosition is the last position that a tsvector can store.
const maxPosition = 16383

// vector returns words as a tsvector. They contain no character that needs quoting.
func vector(words []string) string {
	var out strings.Builder
	for i, word := range words {
		fmt.Fprintf(&out, "'%s':%d ", word, min(i+1, maxPosition))
	}
	return out.String()
}

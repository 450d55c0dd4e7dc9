package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/memory"
)

// wordIndex is how a database indexes words and finds them again.
type wordIndex struct {
	insert func(index string) string // statement: id $1, words $2
	all    func(words []string) string
	anyOf  func(words []string) string
	// ranked selects rowid and score of what has a word of $1 in it, of the ids $2
	// to $3, best first and the newest among equals.
	ranked func(index string) string
}

// put indexes a text. One without words is found by none.
func (w wordIndex) put(ctx context.Context, q querier, index string, id int64, text string) error {
	words := memory.Words(text)
	if len(words) == 0 {
		return nil
	}
	_, err := q.ExecContext(ctx, w.insert(index), id, w.all(words))
	return err
}

// words: FTS5, ranked by bm25. The ids of a memory are a range of rowids, which
// FTS5 seeks; the ids of others are not read.
func (db *sqliteFile) words() wordIndex {
	return wordIndex{
		insert: func(index string) string { return `INSERT INTO ` + index + ` (rowid, words) VALUES ($1, $2)` },
		all:    func(words []string) string { return strings.Join(words, " ") },
		anyOf:  func(words []string) string { return `"` + strings.Join(words, `" OR "`) + `"` },
		ranked: func(index string) string {
			return fmt.Sprintf(`SELECT rowid, -rank AS score FROM %[1]s WHERE %[1]s MATCH $1 AND rowid BETWEEN $2 AND $3
				ORDER BY rank, rowid DESC`, index)
		},
	}
}

func (db *sqliteFile) forUpdate() string { return "" } // the writer has the file

// words: tsvector, ranked by ts_rank, a little lower for longer texts (what ts_rank
// itself offers would put a short text with one word before a long one with two).
// They are written out, so that neither a parser nor a dictionary comes in between.
func (db *postgres) words() wordIndex {
	return wordIndex{
		insert: func(index string) string {
			return `INSERT INTO ` + index + ` (rowid, words) VALUES ($1, CAST($2 AS TEXT)::TSVECTOR)`
		},
		all:   vector,
		anyOf: func(words []string) string { return `'` + strings.Join(words, `' | '`) + `'` },
		ranked: func(index string) string {
			const wanted = `CAST($1 AS TEXT)::TSQUERY`
			return `SELECT rowid, ts_rank(words, ` + wanted + `) / (1 + 0.1 * ln(length(words))) AS score FROM ` + index +
				` WHERE words @@ ` + wanted + ` AND rowid BETWEEN $2 AND $3 ORDER BY score DESC, rowid DESC`
		},
	}
}

func (db *postgres) forUpdate() string { return "FOR UPDATE" }

// maxPosition is the last that a tsvector tells from others.
const maxPosition = 16383

// vector writes words as a tsvector. They have no character that it would quote.
func vector(words []string) string {
	var out strings.Builder
	for i, word := range words {
		fmt.Fprintf(&out, "'%s':%d ", word, min(i+1, maxPosition))
	}
	return out.String()
}

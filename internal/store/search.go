package store

import (
	"context"
	"strings"
	"unicode/utf8"
)

const (
	shortestIndexed = 3    // characters that the index of names finds
	fewNames        = 2000 // more are found soon by who looks at the newest first
)

// searched are what the index knows of the names with a text in them: a condition with %d for its argument, or none, and then
// all names are looked at.
type searched struct {
	condition string
	arg       string
}

// search: FTS5 with trigrams finds what few names have; of what many have, the first page is among the newest.
func (db *sqliteFile) search(ctx context.Context, q querier, text string) (s searched, err error) {
	if utf8.RuneCountInString(text) < shortestIndexed || strings.ContainsRune(text, 0) {
		return s, nil
	}
	var n int
	phrase := `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	const many = `SELECT COUNT(*) FROM (SELECT 1 FROM investigation_names WHERE investigation_names MATCH $1 LIMIT $2)`
	if err := q.QueryRowContext(ctx, many, phrase, fewNames).Scan(&n); err != nil || n == fewNames {
		return s, err
	}
	return searched{` AND id IN (SELECT id FROM investigation_names WHERE investigation_names MATCH $%d)`, phrase}, nil
}

// search: PostgreSQL looks at 100,000 names in time; an index of parts of words is an extension that not everybody has.
func (db *postgres) search(context.Context, querier, string) (searched, error) {
	return searched{}, nil
}

func (db *sqliteFile) has(text, argument string) string {
	return `instr(` + text + `, ` + argument + `) > 0`
}

func (db *postgres) has(text, argument string) string {
	return `strpos(` + text + `, ` + argument + `) > 0`
}

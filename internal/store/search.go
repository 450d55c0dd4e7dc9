package store

import (
	"context"
	"fmt"
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

// search: PostgreSQL reads all names. This is for texts that are too short for nameTerms.
func (db *postgres) search(context.Context, querier, string) (searched, error) {
	return searched{}, nil
}

func (db *sqliteFile) has(text, argument string) string {
	return `instr(` + text + `, ` + argument + `) > 0`
}

func (db *postgres) has(text, argument string) string {
	return `strpos(` + text + `, ` + argument + `) > 0`
}

// maxBegun is how many words that begin with one of a search's FTS5 is asked for one by one. It reads these in turn as far
// as they are needed, and takes longer to begin the more there are.
const maxBegun = 100

func (db *sqliteFile) allOf(ctx context.Context, q querier, words, oneOf []string) (string, error) {
	const begun = `SELECT term FROM investigation_terms WHERE term >= $1 AND term < $2 ORDER BY term LIMIT $3`
	var all []string
	for _, word := range words {
		if n := utf8.RuneCountInString(word); n <= shortestIndexed {
			all = append(all, `"`+word+`"`+strings.Repeat("*", n/shortestIndexed))
			continue
		}
		terms, err := selectAll(ctx, q, func(term *string) []any { return []any{term} }, begun, word, word+"\U0010FFFF", maxBegun+1)
		if err != nil || len(terms) == 0 {
			return "", err
		}
		if len(terms) > maxBegun {
			all = append(all, `"`+word+`"*`)
			continue
		}
		all = append(all, `("`+strings.Join(terms, `" OR "`)+`")`)
	}
	if oneOf != nil {
		all = append(all, `("`+strings.Join(oneOf, `" OR "`)+`")`)
	}
	return strings.Join(all, " AND "), nil
}

func (db *postgres) allOf(_ context.Context, _ querier, words, oneOf []string) (string, error) {
	var all []string
	for _, word := range words {
		beginning := ""
		if utf8.RuneCountInString(word) >= shortestIndexed {
			beginning = ":*"
		}
		all = append(all, `'`+word+`'`+beginning)
	}
	return conjunction(all, oneOf), nil
}

func (db *postgres) allTerms(terms, oneOf []string) string {
	var all []string
	for _, term := range terms {
		all = append(all, `'`+term+`'`)
	}
	return conjunction(all, oneOf)
}

// conjunction is a tsquery for all terms and for one of some others, if there are any.
func conjunction(all, oneOf []string) string {
	if oneOf != nil {
		all = append(all, `('`+strings.Join(oneOf, `' | '`)+`')`)
	}
	return strings.Join(all, " & ")
}

// nameTerms: each three characters in a row, in hexadecimal digits, behind a sign that no word has. (The extension that indexes
// parts of words is not installed everywhere.)
func (db *postgres) nameTerms(text string) []string {
	const most = 2000 // of the longest name
	all, set := []rune(text), newWordSet(most)
	if len(all) < shortestIndexed {
		return nil
	}
	for n := range len(all) - shortestIndexed + 1 {
		set.add([]rune(fmt.Sprintf("§%x", string(all[n:n+shortestIndexed]))))
	}
	return set.words
}

// nameTerms: SQLite has an index of names of its own.
func (db *sqliteFile) nameTerms(string) []string { return nil }

func (db *sqliteFile) allTerms([]string, []string) string { return "" }

func (db *sqliteFile) addTerms(ctx context.Context, q querier, words []string) error {
	if len(words) == 0 {
		return nil
	}
	const add = `INSERT INTO investigation_terms (term) SELECT value FROM json_each($1) WHERE true ON CONFLICT DO NOTHING`
	_, err := q.ExecContext(ctx, add, asJSON(&words))
	return err
}

// addTerms: PostgreSQL's index finds beginnings of words itself.
func (db *postgres) addTerms(context.Context, querier, []string) error { return nil }

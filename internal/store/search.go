package store

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	shortestIndexed = 3    // minimum length that the name index finds
	fewNames        = 2000 // more matches are found quickly by reading the newest rows first
)

// searched is a condition from the index of names, with %d for its argument. If it is empty, all names are searched.
type searched struct {
	condition string
	arg       string
}

// search uses FTS5 with trigrams for texts in few names. For texts in many names, the first page is among the newest.
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

// search makes PostgreSQL read all names. It is used for texts that are too short for nameTerms.
func (db *postgres) search(context.Context, querier, string) (searched, error) {
	return searched{}, nil
}

func (db *sqliteFile) has(text, argument string) string {
	return `instr(` + text + `, ` + argument + `) > 0`
}

func (db *postgres) has(text, argument string) string {
	return `strpos(` + text + `, ` + argument + `) > 0`
}

// maxBegun is the maximum number of words with a prefix that FTS5 is queried for individually. FTS5 reads their rows one by one, and
// takes longer to start the more words there are. For more words, FTS5 is queried for the prefix, which is quick if the index has
// prefixes of that length (migration 27).
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

// conjunction returns a tsquery for all terms and, if oneOf is not empty, one of those.
func conjunction(all, oneOf []string) string {
	if oneOf != nil {
		all = append(all, `('`+strings.Join(oneOf, `' | '`)+`')`)
	}
	return strings.Join(all, " & ")
}

// nameTerms returns each three consecutive characters as hexadecimal digits, after a character that no word contains. (The trigram
// extension is not installed everywhere.)
func (db *postgres) nameTerms(text string) []string {
	const most = 2000 // terms of the longest name
	all, set := []rune(text), newWordSet(most)
	if len(all) < shortestIndexed {
		return nil
	}
	for n := range len(all) - shortestIndexed + 1 {
		set.add([]rune(fmt.Sprintf("§%x", string(all[n:n+shortestIndexed]))))
	}
	return set.words
}

// nameTerms returns nil, because SQLite has a separate index of names.
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

// addTerms does nothing, because PostgreSQL's index supports prefixes itself.
func (db *postgres) addTerms(context.Context, querier, []string) error { return nil }

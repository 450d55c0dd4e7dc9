package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
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

// search uses FTS5 with trigrams if few names contain the text. Otherwise it uses no index, because the newest rows soon fill the
// first page.
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

const (
	longestWord   = 64   // characters of a word that are indexed
	wordsIndexed  = 4000 // distinct words of an investigation
	wordsAskedFor = 16   // words of a search
)

// wordSet collects distinct words in the order of their first occurrence.
type wordSet struct {
	words []string
	known map[string]bool
	most  int
}

func newWordSet(most int) *wordSet { return &wordSet{known: map[string]bool{}, most: most} }

// add adds a word in lower case, up to the set's limit.
func (s *wordSet) add(word []rune) {
	text := strings.ToLower(string(word[:min(len(word), longestWord)]))
	if text != "" && !s.known[text] && len(s.words) < s.most {
		s.known[text] = true
		s.words = append(s.words, text)
	}
}

// text adds the words of a text: runs of letters, marks and digits. With parts, it also adds the parts of
// a compound such as OOMKilled, so that a search for "killed" finds it.
func (s *wordSet) text(text string, parts bool) {
	var word []rune
	end := func() {
		s.add(word)
		if parts {
			s.parts(word)
		}
		word = word[:0]
	}
	for _, r := range text {
		switch {
		case len(s.words) == s.most:
			return
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			// These scripts put no spaces between words.
			end()
			s.add([]rune{r})
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r) && len(word) > 0:
			word = append(word, r)
		default:
			end()
		}
	}
	end()
}

// parts adds the parts of a word that begin with a capital: of OOMKilled, "killed"; of PodCrash, "crash".
// The first part is a beginning of the word, which a search finds anyway.
func (s *wordSet) parts(word []rune) {
	begin := 0
	for i := 1; i <= len(word); i++ {
		capital := i < len(word) && unicode.IsUpper(word[i]) &&
			(!unicode.IsUpper(word[i-1]) || i+1 < len(word) && unicode.IsLower(word[i+1]))
		if capital || i == len(word) && begin > 0 {
			if begin > 0 && i-begin >= shortestIndexed {
				s.add(word[begin:i])
			}
			begin = i
		}
	}
}

// data adds the words of an alert. For JSON, these are the words of its keys and values, without escapes.
func (s *wordSet) data(data []byte) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if !json.Valid(data) || decoder.Decode(&value) != nil {
		s.text(string(data), true)
		return
	}
	s.value(value)
}

func (s *wordSet) value(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			s.text(key, true)
			s.value(value[key])
		}
	case []any:
		for _, of := range value {
			s.value(of)
		}
	case string:
		s.text(value, true)
	case json.Number:
		s.text(value.String(), false)
	}
}

// PastInvestigations returns the newest ended investigations of a project with all words of a text.
func (s lessons) PastInvestigations(ctx context.Context, q learning.PastQuery) (found []learning.Past, err error) {
	f := Filter{
		Projects: []string{cmp.Or(q.Project, agent.DefaultProject)}, AlertType: q.AlertType, Since: q.Since, Search: q.Text,
		NoTrials: true, Limit: 4 * q.Limit, // some may not have ended
	}
	all, err := investigations(s).Investigations(ctx, f)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range all {
		if r.EndedAt != nil && r.ID != q.Except && len(found) < q.Limit {
			found, ids = append(found, learning.Past{Investigation: r}), append(ids, r.ID)
		}
	}
	scores, err := outcomes(s).LastScores(ctx, ids)
	for n := range found {
		past := &found[n]
		if score, ok := scores[past.ID]; ok {
			past.Score = &score
		}
		if err == nil {
			past.Ratings, err = ratingsOf(ctx, s.db.reader, past.ID)
		}
		if err == nil {
			past.Withdrawn, err = isWithdrawn(ctx, s.db.reader, past.ID)
		}
	}
	return found, doing(s.db.explain(err), "read how earlier investigations were judged")
}

// searchBatch is how many learnings a search reads at once.
const searchBatch = 500

// Learnings returns learnings, newest first.
func (s lessons) Learnings(ctx context.Context, f learning.Filter) (all []learning.Learning, err error) {
	l, known, err := s.learningsOf(ctx, s.db.reader, f.Project)
	words := learning.Words(f.Search)
	page := f
	if len(words) > 0 {
		page.Limit = searchBatch
	}
	for more := known; more && err == nil; {
		var some []learning.Learning
		some, err = l.page(ctx, page)
		if more = len(words) > 0 && len(some) == searchBatch; more {
			page.Before = some[len(some)-1].ID
		}
		for _, one := range some {
			if len(words) == 0 || shares(one.Text, words) {
				all = append(all, one)
			}
		}
		if f.Limit > 0 && len(all) >= f.Limit {
			all, more = all[:f.Limit], false
		}
	}
	return all, doing(s.db.explain(err), "read the learnings of the project %s", f.Project)
}

// page returns the newest learnings that a filter selects, except for its search.
func (l learnings) page(ctx context.Context, f learning.Filter) ([]learning.Learning, error) {
	condition, args := "", []any{}
	add := func(text string, value any) {
		args = append(args, value)
		condition += strings.ReplaceAll(text, "?", fmt.Sprintf("$%d", len(args)+2))
	}
	if f.Investigation != "" {
		add(` AND investigation = ?`, f.Investigation)
	}
	if !f.Withdrawn {
		condition += ` AND withdrawn = 0`
	}
	if f.Before > 0 {
		add(` AND id < ?`, l.row(min(f.Before, learning.MaxID)))
	}
	condition += ` ORDER BY id DESC`
	if f.Limit > 0 {
		add(` LIMIT ?`, f.Limit)
	}
	return l.read(ctx, condition, args...)
}

func shares(text string, words []string) bool {
	return slices.ContainsFunc(termsOf(text), func(term string) bool { return slices.Contains(words, term) })
}

// Learning returns one learning, or ErrNotFound.
func (s lessons) Learning(ctx context.Context, project string, id int64) (one learning.Learning, err error) {
	l, known, err := s.learningsOf(ctx, s.db.reader, project)
	if err == nil && !known {
		err = ErrNotFound
	}
	if err == nil {
		one, err = l.one(ctx, id)
	}
	return one, doing(s.db.explain(err), "read the learning %s", learning.Name(id))
}

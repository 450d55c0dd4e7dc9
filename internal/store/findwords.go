package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

const (
	textIndexed  = 256 << 10 // bytes of an alert, and of a report, that are indexed
	slots        = 128       // investigations per millisecond that the index keeps in order
	firstWindow  = 1000      // matches that a search examines first; each further window is four times as large
	indexedAhead = 100       // outdated investigations that a search indexes first
)

// indexWords updates the indexed words of an investigation. The caller holds the investigation's lock.
func indexWords(ctx context.Context, q querier, db database, id string) error {
	const query = `SELECT project, workflow_id, chain, alert_type, error, report, envelope, metadata, started_at,
			(SELECT substr(data, 1, $2) FROM blobs WHERE hash = data_hash),
			(SELECT n FROM investigation_texts WHERE investigation = id) FROM investigations WHERE id = $1`
	var r record.Investigation
	var data []byte
	var known *int64
	err := q.QueryRowContext(ctx, query, id, textIndexed).Scan(projectColumn{&r.Project}, &r.WorkflowID, &r.Chain, &r.AlertType,
		textColumn{&r.Error}, textColumn{&r.Report}, asJSON(&r.Envelope), asJSON(&r.Metadata), timeColumn{&r.StartedAt}, &data, &known)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if known != nil {
		if _, err := q.ExecContext(ctx, `DELETE FROM investigation_words WHERE rowid = $1`, *known); err != nil {
			return err
		}
	}
	n, err := placeWords(ctx, q, id, r.StartedAt, known)
	if err != nil {
		return err
	}
	if words := append(wordsOf(r, data), db.nameTerms(r.WorkflowID+" "+r.Chain+" "+r.AlertType)...); len(words) > 0 {
		if _, err := q.ExecContext(ctx, db.words().insert("investigation_words"), n, db.words().set(words)); err != nil {
			return err
		}
		if err := db.addTerms(ctx, q, words); err != nil {
			return err
		}
	}
	const done = `DELETE FROM investigations_unindexed WHERE started_at = $1 AND investigation = $2`
	_, err = q.ExecContext(ctx, done, timeColumn{&r.StartedAt}, id)
	return err
}

// wordsOf returns the distinct words under which an investigation can be found.
func wordsOf(r record.Investigation, data []byte) []string {
	set := newWordSet(wordsIndexed)
	set.add([]rune(projectTerm(r.Project)))
	report := r.Report[:min(len(r.Report), textIndexed)]
	for _, text := range []string{r.WorkflowID, r.Chain, r.AlertType, r.Error, r.Envelope.Summary, report} {
		set.text(text, true)
	}
	for _, value := range r.Metadata {
		set.text(value, true)
	}
	set.data(data)
	return set.words
}

// projectTerm is the index term of an investigation's project, so that a search in a small project does not read the entries of
// others. It cannot occur in a text, because a word never contains its first character.
func projectTerm(project string) string {
	sum := sha256.Sum256([]byte(cmp.Or(project, agent.DefaultProject)))
	return fmt.Sprintf("¶%x", sum[:8])
}

// placeWords returns an investigation's row in the index: its existing row if that fits the start, or else a new one.
func placeWords(ctx context.Context, q querier, id string, start time.Time, known *int64) (int64, error) {
	n := placeOf(start)
	if known != nil {
		if *known >= n && *known < n+slots {
			return *known, nil
		}
		if _, err := q.ExecContext(ctx, `DELETE FROM investigation_texts WHERE n = $1`, *known); err != nil {
			return 0, err
		}
	}
	for ; ; n++ {
		const add = `INSERT INTO investigation_texts (n, investigation) VALUES ($1, $2) ON CONFLICT DO NOTHING`
		if added, err := changed(q.ExecContext(ctx, add, n, id)); err != nil || added {
			return n, err
		}
	}
}

// placeOf returns the first index row for investigations with that start.
func placeOf(start time.Time) int64 { return start.UnixMilli() * slots }

// indexSome indexes at most the given number of outdated investigations, newest first.
func (s investigations) indexSome(ctx context.Context, most int) (int, error) {
	type row struct {
		start int64
		id    string
	}
	const query = `SELECT started_at, investigation FROM investigations_unindexed ORDER BY started_at DESC, investigation DESC LIMIT $1`
	rows, err := selectAll(ctx, s.db.reader, func(r *row) []any { return []any{&r.start, &r.id} }, query, most)
	if err != nil || len(rows) == 0 {
		return 0, s.db.explain(err)
	}
	err = s.write(ctx, "", func(q querier) error {
		// Several investigations are always locked in the same order.
		slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.id, b.id) })
		for _, r := range rows {
			if err := s.db.lock(ctx, q, r.id); err != nil {
				return err
			}
		}
		// SQLite flushes its index whenever a row does not follow the previous one.
		slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.start, b.start) })
		for _, r := range rows {
			if err := indexWords(ctx, q, s.db, r.id); err != nil {
				return err
			}
			const done = `DELETE FROM investigations_unindexed WHERE started_at = $1 AND investigation = $2`
			if _, err := q.ExecContext(ctx, done, r.start, r.id); err != nil {
				return err
			}
		}
		return nil
	})
	return len(rows), doing(err, "index the words of investigations")
}

// KeepIndexed indexes the words of investigations that an older program wrote, until ctx ends. It works in small batches and pauses
// after each for as long as the batch took, so that others can write.
func (s investigations) KeepIndexed(ctx context.Context) {
	const batch, rest = 50, time.Minute
	for ctx.Err() == nil {
		began := time.Now()
		n, err := s.indexSome(ctx, batch)
		wait := time.Since(began)
		if err != nil || n == 0 {
			wait = rest
		}
		if err != nil && ctx.Err() == nil {
			s.logger.WarnContext(ctx, "the words of older investigations are not indexed yet: searches do not find them", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// matches reads the index rows that have all words of a search, newest first.
type matches struct {
	rows  []int64
	query string
	below int64 // all matching rows at or above this one have been returned
	from  int64
	more  bool
}

// searched returns the records that a filter with a search selects, newest first.
func (s investigations) searched(ctx context.Context, f Filter) ([]record.Investigation, error) {
	if _, err := s.indexSome(ctx, indexedAhead); err != nil && ctx.Err() == nil {
		s.logger.WarnContext(ctx, "could not update the search index: searches may miss what older versions of Inquest wrote", "error", err)
	}
	all, err := s.withName(ctx, f)
	if err != nil || f.NamesOnly {
		return all, err
	}
	worded, err := s.withWords(ctx, f)
	all = append(all, worded...)
	slices.SortFunc(all, func(a, b record.Investigation) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), strings.Compare(b.ID, a.ID))
	})
	all = slices.CompactFunc(all, func(a, b record.Investigation) bool { return a.ID == b.ID })
	if f.Limit > 0 {
		all = all[:min(f.Limit, len(all))]
	}
	return all, err
}

// withName returns the records that the filter selects and whose names contain the search text.
func (s investigations) withName(ctx context.Context, f Filter) ([]record.Investigation, error) {
	if terms := s.db.nameTerms(f.Search); terms != nil {
		var outdated bool
		const query = `SELECT EXISTS (SELECT 1 FROM investigations_unindexed)`
		if err := s.db.reader.QueryRowContext(ctx, query).Scan(&outdated); err != nil {
			return nil, err
		}
		if !outdated {
			return s.windows(ctx, f, s.db.allTerms(terms, projectTerms(f.Projects)))
		}
	}
	found, err := s.db.search(ctx, s.db.reader, f.Search)
	if err != nil {
		return nil, err
	}
	query, args := queryOf(f, s.db, found)
	return selectAll(ctx, s.db.reader, investigationFields, query, args...)
}

// withWords returns the records that the filter selects and that contain all words of its search.
func (s investigations) withWords(ctx context.Context, f Filter) ([]record.Investigation, error) {
	asked := newWordSet(wordsAskedFor)
	asked.text(f.Search, false)
	if len(asked.words) == 0 {
		return nil, nil
	}
	wanted, err := s.db.allOf(ctx, s.db.reader, asked.words, projectTerms(f.Projects))
	if err != nil || wanted == "" {
		return nil, err
	}
	f.Search = ""
	return s.windows(ctx, f, wanted)
}

func projectTerms(projects []string) (terms []string) {
	for _, project := range projects {
		terms = append(terms, projectTerm(project))
	}
	return terms
}

// windows returns the records that the filter selects and that match an index query, newest first.
func (s investigations) windows(ctx context.Context, f Filter, wanted string) (all []record.Investigation, err error) {
	if f.Projects != nil && len(f.Projects) == 0 {
		return nil, nil
	}
	m := matches{query: wanted, from: placeOf(f.Since), below: 1<<63 - 1, more: true}
	if f.Since.IsZero() {
		m.from = -1 << 63
	}
	if f.Before.ID != "" {
		m.below = placeOf(f.Before.StartedAt) + slots
	}
	for n := 0; m.more && (f.Limit == 0 || len(all) < f.Limit); n++ {
		if err := m.next(ctx, s.db, n); err != nil {
			return nil, err
		}
		if len(m.rows) == 0 {
			continue
		}
		rows, err := json.Marshal(m.rows)
		if err != nil {
			return nil, err
		}
		page := f
		page.Limit = max(0, f.Limit-len(all))
		query, args := queryOf(page, s.db, searched{s.db.words().among, string(rows)})
		found, err := selectAll(ctx, s.db.reader, investigationFields, query, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// next reads the n-th window of matches. A window never ends within a millisecond, because the list is ordered there too.
func (m *matches) next(ctx context.Context, db database, n int) error {
	type row struct {
		n     int64
		found bool
	}
	fields := func(r *row) []any { return []any{&r.n, &r.found} }
	size, query := firstWindow<<(2*min(n, 10)), db.words().newest("investigation_words")
	if recent := db.words().recent; n == 0 && recent != nil {
		query = recent("investigation_words")
	}
	rows, err := selectAll(ctx, db.reader, fields, query+fmt.Sprintf(` LIMIT %d`, size), m.query, m.from, m.below)
	if err != nil {
		return err
	}
	m.rows, m.more = nil, len(rows) == size
	if m.more {
		last := rows[size-1].n
		m.below = last - (last%slots+slots)%slots + slots
	}
	for _, r := range rows {
		if r.found && (!m.more || r.n >= m.below) {
			m.rows = append(m.rows, r.n)
		}
	}
	return nil
}

package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
)

// learnings is a project's learnings in one transaction. Every statement about learnings has the project's range of row IDs, so that
// projects never see those of others.
type learnings struct {
	q       querier
	db      engine
	project string
	id      int64
}

func (l learnings) row(id int64) int64 { return l.id<<32 | id }

// ids returns the first and the last row ID of the project.
func (l learnings) ids() (first, last int64) { return l.row(1), l.row(learning.MaxID) }

// learningsOf opens a project's learnings. known is false if the project has none.
func (s lessons) learningsOf(ctx context.Context, q querier, project string) (l learnings, known bool, err error) {
	l = learnings{q: q, db: s.db, project: cmp.Or(project, agent.DefaultProject)}
	err = q.QueryRowContext(ctx, `SELECT id FROM learning_projects WHERE project = $1`, textColumn{&l.project}).Scan(&l.id)
	if errors.Is(err, sql.ErrNoRows) {
		return l, false, nil
	}
	return l, err == nil, err
}

// changeLearnings opens a project's learnings in a write transaction. It locks them until the transaction ends.
func (s lessons) changeLearnings(ctx context.Context, q querier, project string) (learnings, error) {
	l := learnings{q: q, db: s.db, project: cmp.Or(project, agent.DefaultProject)}
	const lock = `INSERT INTO learning_projects (project, last) VALUES ($1, 0)
		ON CONFLICT (project) DO UPDATE SET last = learning_projects.last RETURNING id`
	return l, q.QueryRowContext(ctx, lock, textColumn{&l.project}).Scan(&l.id)
}

const learningColumns = `id, investigation, changed_at, learning`

func (l learnings) fields(to *learning.Learning) []any {
	to.Project = l.project
	return []any{&to.ID, &to.Investigation, timeColumn{&to.Changed}, asJSON(to)}
}

// read returns the learnings that a condition selects. It may refer to the project's first and last row as $1 and $2.
func (l learnings) read(ctx context.Context, condition string, args ...any) ([]learning.Learning, error) {
	first, last := l.ids()
	query := `SELECT ` + learningColumns + ` FROM learnings WHERE id BETWEEN $1 AND $2 ` + condition
	all, err := selectAll(ctx, l.q, l.fields, query, append([]any{first, last}, args...)...)
	for n := range all {
		all[n].ID &= learning.MaxID
	}
	return all, err
}

func (l learnings) one(ctx context.Context, id int64) (learning.Learning, error) {
	if id < 1 || id > learning.MaxID { // higher numbers would be rows of another project
		return learning.Learning{}, ErrNotFound
	}
	all, err := l.read(ctx, `AND id = $3`, l.row(id))
	if err == nil && len(all) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return learning.Learning{}, err
	}
	return all[0], nil
}

// add stores a learning under a new ID.
func (l learnings) add(ctx context.Context, one learning.Learning) (id int64, err error) {
	const count = `UPDATE learning_projects SET last = last + 1 WHERE id = $1 RETURNING last`
	if err := l.q.QueryRowContext(ctx, count, l.id).Scan(&id); err != nil {
		return 0, err
	}
	one.Text, one.Basis = storedText(one.Text), learning.Basis{Confidence: one.Confidence, At: one.Changed}
	const columns = `id, investigation, changed_at, learning, digest, withdrawn, vector_model, vector`
	_, err = l.q.ExecContext(ctx, insertInto("learnings", columns),
		l.row(id), one.Investigation, timeColumn{&one.Changed}, asJSON(&one), digestOf(one.Text), 0, "", []byte{})
	if err != nil {
		return 0, err
	}
	return id, l.index(ctx, id, one.Text)
}

// save replaces a learning. before is its old version.
func (l learnings) save(ctx context.Context, before, one learning.Learning) error {
	one.Text = storedText(one.Text)
	withdrawn := 0
	if one.Withdrawn != nil {
		withdrawn = 1
	}
	const query = `UPDATE learnings SET changed_at = $2, learning = $3, digest = $4, withdrawn = $5 WHERE id = $1`
	_, err := l.q.ExecContext(ctx, query, l.row(one.ID), timeColumn{&one.Changed}, asJSON(&one), digestOf(one.Text), withdrawn)
	if err != nil || one.Text == before.Text && (one.Withdrawn == nil) == (before.Withdrawn == nil) {
		return err
	}
	if before.Withdrawn == nil {
		if err := l.unindex(ctx, before.ID, before.Text); err != nil {
			return err
		}
	}
	if err := l.clearCode(ctx, one.ID); err != nil {
		return err
	}
	const plain = `UPDATE learnings SET vector_model = '', vector = $2 WHERE id = $1`
	if _, err := l.q.ExecContext(ctx, plain, l.row(one.ID), []byte{}); err != nil || one.Withdrawn != nil {
		return err
	}
	return l.index(ctx, one.ID, one.Text)
}

// index makes a learning findable by its words.
func (l learnings) index(ctx context.Context, id int64, text string) error {
	if err := l.db.words().put(ctx, l.q, "learning_words", l.row(id), text); err != nil {
		return err
	}
	terms := termsOf(text)
	query := `INSERT INTO learning_terms (project, term, n) SELECT CAST($1 AS BIGINT), value, 1 FROM ` + l.db.each(2) +
		` WHERE true ON CONFLICT (project, term) DO UPDATE SET n = learning_terms.n + 1`
	_, err := l.q.ExecContext(ctx, query, l.id, asJSON(&terms))
	return err
}

func (l learnings) unindex(ctx context.Context, id int64, text string) error {
	if _, err := l.q.ExecContext(ctx, `DELETE FROM learning_words WHERE rowid = $1`, l.row(id)); err != nil {
		return err
	}
	terms := termsOf(text)
	query := `UPDATE learning_terms SET n = n - 1 WHERE project = $1 AND term IN (SELECT value FROM ` + l.db.each(2) + `)`
	if _, err := l.q.ExecContext(ctx, query, l.id, asJSON(&terms)); err != nil {
		return err
	}
	_, err := l.q.ExecContext(ctx, `DELETE FROM learning_terms WHERE project = $1 AND n <= 0`, l.id)
	return err
}

// termsOf returns the distinct words of a text, sorted, and never nil.
func termsOf(text string) []string {
	terms := memory.Words(text)
	slices.Sort(terms)
	return append([]string{}, slices.Compact(terms)...)
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(learning.Digest(text)))
	return hex.EncodeToString(sum[:16])
}

// shortlist is how many learnings with words of a query are ranked.
const shortlist = 50

// FindLearnings returns the learnings that fit a query best: from those that share its rarest words and, if the query has a vector,
// from those with the nearest vectors of the same model. It leaves out what investigations taught that a person rates inaccurate.
func (s lessons) FindLearnings(ctx context.Context, query learning.Query) (found []learning.Scored, err error) {
	l, known, err := s.learningsOf(ctx, s.db.reader, query.Project)
	if err != nil || !known {
		return nil, doing(s.db.explain(err), "find learnings")
	}
	query.Project, query.Now = l.project, cmp.Or(query.Now, time.Now())
	var counts map[string]int
	var byWords, byMeaning []learning.Candidate
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		counts, byWords, err = l.byWords(ctx, learning.Words(query.Text))
		return err
	})
	both.Go(func() (err error) {
		byMeaning, err = l.byMeaning(ctx, query.Vector)
		return err
	})
	if err := both.Wait(); err != nil {
		return nil, doing(s.db.explain(err), "find learnings")
	}
	all := append(byWords, byMeaning...)
	slices.SortFunc(all, func(a, b learning.Candidate) int { return cmp.Compare(a.ID, b.ID) })
	all = slices.CompactFunc(all, func(a, b learning.Candidate) bool { return a.ID == b.ID })
	return learning.Rank(all, query, counts), nil
}

// counts returns how many learnings have each of the words that a query is searched by.
func (l learnings) counts(ctx context.Context, words []string) (map[string]int, error) {
	type term struct {
		word string
		n    int
	}
	query := `SELECT term, n FROM learning_terms WHERE project = $1 AND term IN (SELECT value FROM ` + l.db.each(2) + `)`
	all, chosen := map[string]int{}, map[string]int{}
	if len(words) == 0 {
		return chosen, nil
	}
	terms, err := selectAll(ctx, l.q, func(t *term) []any { return []any{&t.word, &t.n} }, query, l.id, asJSON(&words))
	for _, t := range terms {
		all[t.word] = t.n
	}
	for _, word := range learning.Rarest(words, all) {
		chosen[word] = all[word]
	}
	return chosen, err
}

// candidates returns the learnings that a query selects from "found", which has rows with a rowid. with defines it.
func (l learnings) candidates(ctx context.Context, with string, args ...any) ([]learning.Candidate, error) {
	fields := func(c *learning.Candidate) []any {
		return append(l.fields(&c.Learning), &c.Vector.Model, vectorColumn{&c.Vector.Values})
	}
	query := `WITH found AS (` + with + `)
		SELECT ` + learningColumns + `, vector_model, vector FROM found JOIN learnings ON id = found.rowid WHERE withdrawn = 0 AND ` + believed
	all, err := selectAll(ctx, l.q, fields, query, args...)
	for n := range all {
		all[n].ID &= learning.MaxID
	}
	return all, err
}

// byWords returns the learnings that share the rarest words of a query, and how many learnings have each of these words.
func (l learnings) byWords(ctx context.Context, words []string) (counts map[string]int, found []learning.Candidate, err error) {
	counts, err = l.counts(ctx, words)
	if err != nil || len(counts) == 0 {
		return nil, nil, err
	}
	first, last := l.ids()
	rarest := l.db.words().anyOf(slices.Sorted(maps.Keys(counts)))
	found, err = l.candidates(ctx, l.db.words().ranked("learning_words")+` LIMIT $4`, rarest, first, last, shortlist)
	return counts, found, err
}

// byMeaning returns the learnings that are nearest to a vector.
func (l learnings) byMeaning(ctx context.Context, v learning.Vector) ([]learning.Candidate, error) {
	if len(v.Values) == 0 {
		return nil, nil
	}
	rows, err := l.near(ctx, v)
	if err != nil {
		return nil, err
	}
	return l.candidates(ctx, `SELECT CAST(value AS BIGINT) AS rowid FROM `+l.db.each(1), asJSON(&rows))
}

// ADR 32 explains how learnings are found by their meaning. Learning n is number n % learning.BlockSize of the block
// n / learning.BlockSize, where n is the row ID.
const (
	maxBlocks = 400 // blocks that a query reads, the newest ones: about 100,000 learnings
	nearest   = 200 // learnings with the nearest codes, whose vectors are compared
)

// block reads a block of codes, and the model of their vectors. The block is empty if there is none.
func (l learnings) block(ctx context.Context, n int64) (b learning.Block, model string, err error) {
	err = l.q.QueryRowContext(ctx, `SELECT model, codes FROM learning_codes WHERE block = $1`, n).Scan(&model, (*[]byte)(&b))
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return b, model, err
}

func (l learnings) saveBlock(ctx context.Context, n int64, model string, b learning.Block) error {
	query := insertInto("learning_codes", "block, model, codes") + `ON CONFLICT (block) ` + overwrite("model, codes")
	_, err := l.q.ExecContext(ctx, query, n, model, []byte(b))
	return err
}

// setCodes stores the codes of vectors of one model and size, by row ID. If a block has had another model or size, its other vectors are
// removed, so that a vector always has a code.
func (l learnings) setCodes(ctx context.Context, model string, codes map[int64][]byte) error {
	blocks := map[int64]learning.Block{}
	for _, row := range slices.Sorted(maps.Keys(codes)) {
		code, n := codes[row], row/learning.BlockSize
		if blocks[n] == nil {
			b, was, err := l.block(ctx, n)
			if err != nil {
				return err
			}
			if was != model || b.Size() != len(code) {
				const others = `UPDATE learnings SET vector_model = '', vector = $3 WHERE id BETWEEN $1 AND $2`
				from, to := n*learning.BlockSize, (n+1)*learning.BlockSize-1
				if _, err := l.q.ExecContext(ctx, others, from, to, []byte{}); err != nil {
					return err
				}
				b = learning.NewBlock(len(code))
			}
			blocks[n] = b
		}
		blocks[n].Set(row%learning.BlockSize, code)
	}
	for _, n := range slices.Sorted(maps.Keys(blocks)) { // sorted, so that transactions lock rows in one order
		if err := l.saveBlock(ctx, n, model, blocks[n]); err != nil {
			return err
		}
	}
	return nil
}

// clearCode removes the code of a learning whose vector no longer counts.
func (l learnings) clearCode(ctx context.Context, id int64) error {
	n, at := l.row(id)/learning.BlockSize, l.row(id)%learning.BlockSize
	b, model, err := l.block(ctx, n)
	if err != nil || !b.Has(at) {
		return err
	}
	b.Clear(at)
	return l.saveBlock(ctx, n, model, b)
}

// near returns the row IDs of the learnings whose codes are nearest to a vector.
func (l learnings) near(ctx context.Context, v learning.Vector) ([]int64, error) {
	first, last := l.ids()
	const query = `SELECT block, codes FROM learning_codes WHERE block BETWEEN $1 AND $2 AND model = $3 ORDER BY block DESC LIMIT $4`
	rows, err := l.q.QueryContext(ctx, query, first/learning.BlockSize, last/learning.BlockSize, v.Model, maxBlocks)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := learning.NewNearest(v.Values, nearest)
	for rows.Next() {
		var n int64
		var codes sql.RawBytes
		if err := rows.Scan(&n, &codes); err != nil {
			return nil, err
		}
		found.Add(n*learning.BlockSize, learning.Block(codes))
	}
	return found.IDs(), rows.Err()
}

// Unembedded returns the newest learnings in use without a vector of the model.
func (s lessons) Unembedded(ctx context.Context, project, model string, limit int) ([]learning.Learning, error) {
	l, known, err := s.learningsOf(ctx, s.db.reader, project)
	if err != nil || !known {
		return nil, doing(s.db.explain(err), "read learnings")
	}
	all, err := l.read(ctx, `AND withdrawn = 0 AND vector_model <> $3 ORDER BY id DESC LIMIT $4`, model, limit)
	return all, doing(s.db.explain(err), "read learnings")
}

// SetVectors stores embeddings of one model for those learnings that still have the same text and are in use.
func (s lessons) SetVectors(ctx context.Context, project string, of []learning.Candidate) error {
	err := s.write(ctx, "", func(q querier) error {
		l, err := s.changeLearnings(ctx, q, project)
		if err != nil || len(of) == 0 {
			return err
		}
		codes, model := map[int64][]byte{}, of[0].Vector.Model
		for _, c := range of {
			one, err := l.one(ctx, c.ID)
			if errors.Is(err, ErrNotFound) || err == nil && (one.Withdrawn != nil || one.Text != storedText(c.Text)) {
				continue
			}
			if err != nil {
				return err
			}
			codes[l.row(c.ID)] = learning.Code(c.Vector.Values)
		}
		if err := l.setCodes(ctx, model, codes); err != nil {
			return err
		}
		for _, c := range of {
			if codes[l.row(c.ID)] == nil {
				continue
			}
			const query = `UPDATE learnings SET vector_model = $2, vector = $3 WHERE id = $1`
			if _, err := q.ExecContext(ctx, query, l.row(c.ID), model, vectorColumn{&c.Vector.Values}); err != nil {
				return err
			}
		}
		return nil
	})
	return doing(err, "store the embeddings of learnings")
}

package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
)

// Learn stores the learnings from an investigation, once: later calls for the same investigation return the first outcome. A new
// learning with the words of an earlier one is not stored. It confirms the earlier one, unless that was withdrawn. While a person rates
// the investigation inaccurate, it teaches nothing.
func (s lessons) Learn(ctx context.Context, project string, taught learning.Taught) (out learning.Outcome, err error) {
	taught.At = storedTime(taught.At)
	err = s.write(ctx, "", func(q querier) error {
		out = learning.Outcome{}
		l, err := s.changeLearnings(ctx, q, project)
		if err != nil {
			return err
		}
		const known = `SELECT outcome FROM learning_runs WHERE investigation = $1`
		if err := q.QueryRowContext(ctx, known, taught.Investigation).Scan(asJSON(&out)); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if ratings, err := ratingsOf(ctx, q, taught.Investigation); err != nil || record.AnyInaccurate(ratings) {
			return err
		}
		if out, err = l.learn(ctx, taught); err != nil {
			return err
		}
		_, err = q.ExecContext(ctx, insertInto("learning_runs", "investigation, at, outcome"),
			taught.Investigation, timeColumn{&taught.At}, asJSON(&out))
		return err
	})
	return out, doing(err, "store the learnings from %s", taught.Investigation)
}

func (l learnings) learn(ctx context.Context, taught learning.Taught) (out learning.Outcome, err error) {
	confirmed := slices.Clone(taught.Confirmed)
	for _, one := range taught.New {
		same, err := l.read(ctx, `AND digest = $3 ORDER BY id LIMIT 1`, digestOf(storedText(one.Text)))
		if err != nil {
			return out, err
		}
		if len(same) > 0 {
			if id := same[0].ID; !slices.Contains(confirmed, id) && !slices.Contains(taught.Contradicted, id) {
				confirmed = append(confirmed, id)
			}
			continue
		}
		one.Investigation, one.Created, one.Changed = taught.Investigation, taught.At, taught.At
		id, err := l.add(ctx, one)
		if err != nil {
			return out, err
		}
		out.Created = append(out.Created, id)
	}
	if out.Confirmed, err = l.judge(ctx, taught, confirmed, true); err != nil {
		return out, err
	}
	out.Contradicted, err = l.judge(ctx, taught, taught.Contradicted, false)
	return out, err
}

// judge confirms or contradicts learnings, except those that no longer exist, were withdrawn, or were just created.
func (l learnings) judge(ctx context.Context, taught learning.Taught, ids []int64, confirms bool) (done []int64, err error) {
	for _, id := range ids {
		one, err := l.one(ctx, id)
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case one.Withdrawn != nil || one.Investigation == taught.Investigation:
			continue
		}
		j := learning.Judgement{Learning: l.row(id), Investigation: taught.Investigation, At: taught.At, Confirms: confirms}
		if _, err := l.q.ExecContext(ctx, insertInto("learning_judgements", judgementColumns), judgementFields(&j)...); err != nil {
			return nil, err
		}
		if err := l.save(ctx, one, learning.Judge(one, j)); err != nil {
			return nil, err
		}
		done = append(done, id)
	}
	return done, nil
}

// NoteReads records that an investigation got learnings of its project, once for each way. It also records reads of learnings that were
// deleted since.
func (s lessons) NoteReads(ctx context.Context, project string, reads []learning.Read) error {
	for some := range slices.Chunk(reads, learning.MaxReads) {
		err := s.write(ctx, "", func(q querier) error {
			l, known, err := s.learningsOf(ctx, q, project)
			if err != nil || !known {
				return err
			}
			for _, r := range some {
				const query = `INSERT INTO learning_reads (learning, investigation, how, at) SELECT CAST($1 AS BIGINT), $2, $3, $4
					FROM learning_projects WHERE id = $5 AND last >= $6 ON CONFLICT DO NOTHING`
				if r.Learning < 1 || r.Learning > learning.MaxID {
					continue
				}
				_, err := q.ExecContext(ctx, query, l.row(r.Learning), r.Investigation, string(r.How), timeColumn{&r.At}, l.id, r.Learning)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return doing(err, "record which learnings were read")
		}
	}
	return nil
}

// rows returns the row IDs of some learnings.
func (l learnings) rows(ids []int64) []int64 {
	out := make([]int64, len(ids))
	for n, id := range ids {
		out[n] = l.row(id)
	}
	return out
}

// LearningReads returns the newest learning.MaxReads of the reads that a filter selects, oldest first. more means that there are older
// ones.
func (s lessons) LearningReads(ctx context.Context, f learning.ReadFilter) (page []learning.Read, more bool, err error) {
	l, known, err := s.learningsOf(ctx, s.db.reader, f.Project)
	if err != nil || !known {
		return nil, false, doing(s.db.explain(err), "read the learnings of the project %s", f.Project)
	}
	first, last := l.ids()
	query, args := `SELECT learning, investigation, how, at FROM learning_reads WHERE learning BETWEEN $1 AND $2 `, []any{first, last}
	if len(f.Learnings) > 0 {
		query += `AND learning IN (SELECT CAST(value AS BIGINT) FROM ` + l.db.each(3) + `) `
		args = append(args, asJSON(new(l.rows(f.Learnings))))
	}
	if f.Investigation != "" {
		args = append(args, f.Investigation)
		query += fmt.Sprintf(`AND investigation = $%d `, len(args))
	}
	if b := f.Before; b != (learning.Read{}) {
		n := len(args)
		query += fmt.Sprintf(`AND (at, investigation, learning, how) < ($%d, $%d, $%d, $%d) `, n+1, n+2, n+3, n+4)
		args = append(args, timeColumn{&b.At}, b.Investigation, l.row(b.Learning), string(b.How))
	}
	query += fmt.Sprintf(`ORDER BY at DESC, investigation DESC, learning DESC, how DESC LIMIT %d`, learning.MaxReads+1)
	fields := func(r *learning.Read) []any { return []any{&r.Learning, &r.Investigation, &r.How, timeColumn{&r.At}} }
	page, err = selectAll(ctx, s.db.reader, fields, query, args...)
	if more = len(page) > learning.MaxReads; more {
		page = page[:learning.MaxReads]
	}
	for n := range page {
		page[n].Learning &= learning.MaxID
	}
	slices.Reverse(page)
	return page, more, doing(s.db.explain(err), "read who got learnings")
}

// EditLearning changes a learning. Its project and its ID cannot change. The act who is in the audit chain of its investigation.
func (s lessons) EditLearning(
	ctx context.Context, project string, id int64, who audit.Act, change func(learning.Learning) (learning.Learning, error),
) (after learning.Learning, err error) {
	err = s.write(ctx, who.Investigation, func(q querier) error {
		l, err := s.changeLearnings(ctx, q, project)
		if err != nil {
			return err
		}
		before, err := l.one(ctx, id)
		if err != nil {
			return err
		}
		if after, err = change(before); err != nil {
			return err
		}
		after.ID, after.Project, after.Investigation, after.Changed = before.ID, before.Project, before.Investigation, storedTime(after.Changed)
		after.Basis.At = storedTime(after.Basis.At)
		if err := l.save(ctx, before, after); err != nil {
			return err
		}
		return s.addActs(ctx, q, []audit.Act{learningAct(ctx, who, audit.LearningChanged, after)})
	})
	return after, doing(err, "change the learning %s", learning.Name(id))
}

// DeleteLearning deletes a learning. Who got it stays on record.
func (s lessons) DeleteLearning(ctx context.Context, project string, id int64, who audit.Act) error {
	err := s.write(ctx, who.Investigation, func(q querier) error {
		l, err := s.changeLearnings(ctx, q, project)
		if err != nil {
			return err
		}
		one, err := l.one(ctx, id)
		if err != nil {
			return err
		}
		if one.Withdrawn == nil {
			if err := l.unindex(ctx, id, one.Text); err != nil {
				return err
			}
		}
		if err := l.clearCode(ctx, id); err != nil {
			return err
		}
		if _, err := q.ExecContext(ctx, `DELETE FROM learnings WHERE id = $1`, l.row(id)); err != nil {
			return err
		}
		return s.addActs(ctx, q, []audit.Act{learningAct(ctx, who, audit.LearningDeleted, one)})
	})
	return doing(err, "delete the learning %s", learning.Name(id))
}

func learningAct(ctx context.Context, who audit.Act, what audit.What, one learning.Learning) audit.Act {
	who.What, who.Call = what, learning.Name(one.ID)
	why := ""
	if one.Withdrawn != nil {
		why = one.Withdrawn.Why
	}
	who.Detail = audit.Detail("project", one.Project, "from", one.Investigation,
		"text", mask.Shown(ctx, one.Text), "why", mask.Shown(ctx, why))
	return who
}

// Learned returns the learnings from an investigation. known is false if it has not taught anything yet.
func (s lessons) Learned(ctx context.Context, investigation string) (out learning.Outcome, known bool, err error) {
	const query = `SELECT outcome FROM learning_runs WHERE investigation = $1`
	err = s.db.reader.QueryRowContext(ctx, query, investigation).Scan(asJSON(&out))
	if errors.Is(err, sql.ErrNoRows) {
		return out, false, nil
	}
	return out, err == nil, doing(s.db.explain(err), "read the learnings from %s", investigation)
}

// LearningsInUse returns the IDs of some learnings of a project, except of those that were withdrawn or deleted, or whose investigation
// a person rates inaccurate.
func (s lessons) LearningsInUse(ctx context.Context, project string, ids []int64) (used []int64, err error) {
	l, known, err := s.learningsOf(ctx, s.db.reader, project)
	if err != nil || !known || len(ids) == 0 {
		return nil, doing(s.db.explain(err), "read the learnings of the project %s", project)
	}
	condition := `AND withdrawn = 0 AND ` + believed + ` AND id IN (SELECT CAST(value AS BIGINT) FROM ` + l.db.each(3) + `)`
	all, err := l.read(ctx, condition, asJSON(new(l.rows(ids))))
	for _, one := range all {
		used = append(used, one.ID)
	}
	return used, doing(s.db.explain(err), "read the learnings of the project %s", project)
}

const judgementColumns = `learning, investigation, at, confirms, undone`

// believed is the condition that no person rates the investigation of a learning inaccurate.
const believed = `NOT EXISTS (SELECT 1 FROM ratings WHERE ratings.investigation = learnings.investigation AND claim = ''
	AND rating = 'inaccurate')`

// judgementFields returns pointers to the columns of a judgement. The learning is a row ID.
func judgementFields(j *learning.Judgement) []any {
	return []any{&j.Learning, &j.Investigation, timeColumn{&j.At}, flagColumn{&j.Confirms}, flagColumn{&j.Undone}}
}

// isWithdrawn reports whether people have withdrawn an investigation's learnings.
func isWithdrawn(ctx context.Context, q querier, investigation string) (is bool, err error) {
	const query = `SELECT EXISTS (SELECT 1 FROM learning_runs WHERE investigation = $1 AND withdrawn = 1)`
	return is, q.QueryRowContext(ctx, query, investigation).Scan(&is)
}

// WithdrawLearnings takes back all learnings from an investigation, and its judgements of other learnings. It returns all learnings,
// including those that were withdrawn before.
func (s lessons) WithdrawLearnings(
	ctx context.Context, project, investigation string, by learning.Withdrawn, who audit.Act,
) (all []learning.Learning, err error) {
	err = s.write(ctx, who.Investigation, func(q querier) error {
		l, err := s.changeLearnings(ctx, q, project)
		if err != nil {
			return err
		}
		var acts, settled []audit.Act
		if all, acts, err = l.withdraw(ctx, investigation, by, who); err != nil {
			return err
		}
		if settled, err = l.settle(ctx, investigation, who); err != nil {
			return err
		}
		return s.addActs(ctx, q, append(acts, settled...))
	})
	return all, doing(err, "withdraw the learnings from %s", investigation)
}

func (l learnings) withdraw(
	ctx context.Context, investigation string, by learning.Withdrawn, who audit.Act,
) (all []learning.Learning, acts []audit.Act, err error) {
	by.At = storedTime(by.At)
	if all, err = l.read(ctx, `AND investigation = $3 ORDER BY id`, investigation); err != nil {
		return nil, nil, err
	}
	for n, one := range all {
		if one.Withdrawn != nil {
			continue
		}
		all[n].Withdrawn = &by
		if err := l.save(ctx, one, all[n]); err != nil {
			return nil, nil, err
		}
		acts = append(acts, learningAct(ctx, who, audit.LearningWithdrawn, all[n]))
	}
	// An investigation that has not taught anything yet will not do so any more.
	query := insertInto("learning_runs", "investigation, at, outcome, withdrawn") + `ON CONFLICT (investigation) ` + overwrite("withdrawn")
	_, err = l.q.ExecContext(ctx, query, investigation, timeColumn{&by.At}, asJSON(&learning.Outcome{}), 1)
	return all, acts, err
}

// settle makes the judgements of an investigation count or, if the investigation is wrong, not count. It returns the acts for the
// learnings that this changes.
func (l learnings) settle(ctx context.Context, investigation string, who audit.Act) (acts []audit.Act, err error) {
	wrong, err := isWithdrawn(ctx, l.q, investigation)
	if err != nil {
		return nil, err
	}
	ratings, err := ratingsOf(ctx, l.q, investigation)
	if err != nil {
		return nil, err
	}
	wrong = wrong || record.AnyInaccurate(ratings)
	const query = `UPDATE learning_judgements SET undone = $2 WHERE investigation = $1 AND undone <> $2 RETURNING ` + judgementColumns
	judged, err := selectAll(ctx, l.q, judgementFields, query, investigation, flagColumn{&wrong})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(judged, func(a, b learning.Judgement) int { return cmp.Compare(a.Learning, b.Learning) })
	for _, j := range judged {
		all, err := l.read(ctx, `AND id = $3`, j.Learning)
		if err != nil {
			return nil, err
		}
		for _, one := range all { // none if it was deleted
			const counting = `SELECT ` + judgementColumns + ` FROM learning_judgements WHERE learning = $1 AND undone = 0
				ORDER BY at, investigation`
			valid, err := selectAll(ctx, l.q, judgementFields, counting, j.Learning)
			if err != nil {
				return nil, err
			}
			after := learning.Replay(one, valid)
			if err := l.save(ctx, one, after); err != nil {
				return nil, err
			}
			acts = append(acts, learningAct(ctx, who, audit.LearningJudged, after))
		}
	}
	return acts, nil
}

// Judgements returns what an investigation confirmed and contradicted, by learning.
func (s lessons) Judgements(ctx context.Context, project, investigation string) (all []learning.Judgement, err error) {
	l, known, err := s.learningsOf(ctx, s.db.reader, project)
	if err == nil && known {
		first, last := l.ids()
		const query = `SELECT ` + judgementColumns + ` FROM learning_judgements WHERE investigation = $1
			AND learning BETWEEN $2 AND $3 ORDER BY learning`
		all, err = selectAll(ctx, s.db.reader, judgementFields, query, investigation, first, last)
	}
	for n := range all {
		all[n].Learning &= learning.MaxID
	}
	return all, doing(s.db.explain(err), "read which learnings %s judged", investigation)
}

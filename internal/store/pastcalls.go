package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/remember"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const pastColumns = `investigation, execution, call, arguments, fate, decision, at`

func pastFields(p *remember.Past) []any {
	return []any{
		&p.Investigation, &p.Execution, textColumn{&p.Call}, textColumn{&p.Arguments}, &p.Fate, textColumn{&p.Decision}, timeColumn{&p.At},
	}
}

// keepPast stores the outcome of a call that an entry records, if rules may be tried on it.
func keepPast(ctx context.Context, q querier, e transcript.Entry) error {
	fate := fateOf(e)
	if fate == "" {
		return nil
	}
	past := remember.Past{
		Investigation: e.Investigation, Execution: e.Execution, Call: e.Call.ID, Arguments: e.Call.Arguments,
		Fate: fate, Decision: e.Decision, At: e.At,
	}
	args := append(pastFields(&past), stageOf(e.Execution), storedText(e.Call.Name))
	_, err := q.ExecContext(ctx, insertInto("past_calls", pastColumns+", stage, tool"), args...)
	return err
}

// fateOf returns the outcome of a call that an entry records; empty if there is none, or if rules are not tried on it. Read-only
// calls that needed no decision are left out.
func fateOf(e transcript.Entry) remember.Fate {
	switch {
	case e.Call == nil || e.Decision == "" && e.Call.Risk == agent.RiskReadOnly:
	case e.Kind == transcript.KindCall && e.Decision != "":
		return remember.Approved
	case e.Kind == transcript.KindCall:
		return remember.Made
	case e.Kind == transcript.KindResult && e.Refused && e.By != "":
		return remember.Denied
	case e.Kind == transcript.KindResult && e.Refused:
		return remember.Undecided
	}
	return ""
}

// stageOf returns the name of the stage that an execution belongs to, without the number of its run.
func stageOf(execution string) string {
	run, _, _ := strings.Cut(execution, "/")
	name, _, _ := strings.Cut(run, "#")
	return name
}

// maxPast and maxExamples bound the calls that a rule is tried on and the examples that are shown.
const (
	maxPast     = 100_000
	maxExamples = 50
)

// Preview tries a rule on the last calls of its tool. The environment of past calls is unknown, and so is the project of
// conversations. Such calls always count.
func (s *Store) Preview(ctx context.Context, r remember.Rule) (p remember.Preview, err error) {
	of, args := callsOf(r)
	looked, fit, err := s.fitting(ctx, r.Matcher(), `SELECT id, fate, `+likely(r, &args)+of+` ORDER BY id DESC`+limitTo(maxPast), args)
	p.Looked, p.Fits = looked, map[remember.Fate]int{}
	for fate, ids := range fit {
		p.Fits[fate] = len(ids)
	}
	if err == nil {
		p.Examples, err = s.examples(ctx, fit)
	}
	return p, doing(s.db.explain(err), "try the rule %s on past calls", r)
}

// callsOf returns the past calls that a rule applies to, as the end of a query.
func callsOf(r remember.Rule) (of string, args []any) {
	of, args = ` FROM past_calls WHERE tool = $1`, []any{r.Tool}
	if r.Where.Stage != "" {
		args = append(args, r.Where.Stage)
		of += fmt.Sprintf(` AND stage = $%d`, len(args))
	}
	if r.Where.Chain != "" {
		args = append(args, r.Where.Chain)
		of += fmt.Sprintf(` AND investigation IN (SELECT id FROM investigations WHERE chain = $%d)`, len(args))
	}
	if r.Where.Project != "" {
		args = append(args, r.Where.Project)
		// With NOT IN, PostgreSQL scans all investigations for each call once their IDs exceed work_mem.
		of += fmt.Sprintf(` AND NOT EXISTS (SELECT 1 FROM investigations i WHERE i.id = past_calls.investigation AND i.project <> $%d)`,
			len(args))
	}
	return of, args
}

// likely returns a column with the arguments if they contain the rule's literals, or may contain them escaped. Otherwise the column
// is "" and the rule cannot match. The database filters faster than parsing each call.
func likely(r remember.Rule, args *[]any) string {
	var has []string
	for _, text := range r.Literals() {
		*args = append(*args, "%"+text+"%") // a _ or % in the text only matches too much
		has = append(has, fmt.Sprintf(`(arguments LIKE $%d OR replace(arguments, '\', '') <> arguments)`, len(*args)))
	}
	if has == nil {
		return `arguments`
	}
	return `CASE WHEN ` + strings.Join(has, ` AND `) + ` THEN arguments ELSE '' END`
}

// fitting returns how many calls a query finds, and the IDs of those that a rule matches, by outcome.
func (s *Store) fitting(
	ctx context.Context, fits remember.Matcher, query string, args []any,
) (looked int, fit map[remember.Fate][]int64, err error) {
	rows, err := s.db.reader.QueryContext(ctx, query, args...)
	if err != nil {
		return 0, nil, err
	}
	defer rows.Close()
	fit = map[remember.Fate][]int64{}
	for ; rows.Next(); looked++ {
		var id int64
		var fate, arguments string
		if err := rows.Scan(&id, &fate, &arguments); err != nil {
			return looked, nil, err
		}
		if parsed, err := remember.Parse(arguments); err == nil && fits(parsed) {
			fit[remember.Fate(fate)] = append(fit[remember.Fate(fate)], id)
		}
	}
	return looked, fit, rows.Err()
}

// examples returns some of the calls that a rule matches, starting with those that a person denied.
func (s *Store) examples(ctx context.Context, fit map[remember.Fate][]int64) (all []remember.Past, err error) {
	var ids []any
	for _, fate := range []remember.Fate{remember.Denied, remember.Undecided, remember.Made, remember.Approved} {
		for _, id := range fit[fate] {
			if len(ids) < maxExamples {
				ids = append(ids, id)
			}
		}
	}
	for _, id := range ids {
		var p remember.Past
		row := s.db.reader.QueryRowContext(ctx, `SELECT `+pastColumns+` FROM past_calls WHERE id = $1`, id)
		if err := row.Scan(pastFields(&p)...); err != nil {
			return all, err
		}
		all = append(all, p)
	}
	return all, nil
}

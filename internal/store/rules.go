package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
	"github.com/inquest-dev/inquest/internal/trust/mask"
	"github.com/inquest-dev/inquest/internal/trust/remember"
)

const ruleColumns = `id, tool, rule, expires_at, revoked, uses, last_used`

// ruleFields returns pointers to a rule's columns. The columns after the rule override its fields.
func ruleFields(r *remember.Rule) []any {
	return []any{&r.ID, &r.Tool, asJSON(r), endColumn{&r.Expires}, maybeJSON[remember.Revoked]{&r.Revoked}, &r.Uses, endColumn{&r.LastUsed}}
}

// AddRule saves a rule, which applies from then on.
func (s rules) AddRule(ctx context.Context, r remember.Rule) error {
	err := s.write(ctx, "", func(q querier) error {
		if _, err := q.ExecContext(ctx, insertInto("rules", ruleColumns), ruleFields(&r)...); err != nil {
			return err
		}
		shown := shownRule(ctx, r)
		whole, err := asJSON(&shown).Value()
		if err != nil {
			return err
		}
		return s.addActs(ctx, q, []audit.Act{{
			At: r.Created, What: audit.RuleAdded, Who: r.By, Call: r.ID, Tool: r.Tool,
			Detail: audit.Detail("project", r.Where.Project, "because", mask.Shown(ctx, r.Because), "version", r.Version(),
				"rule", mask.Shown(ctx, strings.TrimSpace(fmt.Sprint(whole)))),
		}})
	})
	return doing(err, "save rule %s", r.ID)
}

// shownRule returns a rule as the audit trail shows it: each value is masked according to the name of its argument.
func shownRule(ctx context.Context, r remember.Rule) remember.Rule {
	r.Arguments = maps.Clone(r.Arguments)
	for name, pattern := range r.Arguments {
		if pattern.Equals == nil {
			continue
		}
		var masked map[string]json.RawMessage
		text, err := json.Marshal(map[string]json.RawMessage{name: pattern.Equals})
		if err == nil {
			err = json.Unmarshal([]byte(mask.Shown(ctx, string(text))), &masked)
		}
		if pattern.Equals = masked[name]; err != nil || pattern.Equals == nil {
			pattern.Equals = json.RawMessage(`"[not shown]"`)
		}
		r.Arguments[name] = pattern
	}
	return r
}

// Rules returns the rules of a tool, or of all tools if tool is empty, newest first. past includes those that are no longer in
// force.
func (s rules) Rules(ctx context.Context, tool string, past bool) (all []remember.Rule, err error) {
	query := `SELECT ` + ruleColumns + ` FROM rules WHERE $1 IN ('', tool)`
	if !past {
		query += ` AND revoked IS NULL`
	}
	rules, err := selectAll(ctx, s.db.reader, ruleFields, query, tool)
	if err == nil && len(rules) > 0 {
		var now time.Time
		now, err = s.db.clock(ctx, s.db.reader)
		ended := func(r remember.Rule) bool { return !past && r.Expires != nil && !r.Expires.After(now) }
		all = slices.DeleteFunc(rules, ended)
		slices.SortFunc(all, func(a, b remember.Rule) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID)) })
	}
	return all, doing(s.db.explain(err), "read rules")
}

// Rule returns the rule with that ID, or ErrNotFound.
func (s rules) Rule(ctx context.Context, id string) (r remember.Rule, err error) {
	r, err = readRule(ctx, s.db.reader, id)
	return r, doing(s.db.explain(notFound(err)), "read rule %s", id)
}

func readRule(ctx context.Context, q querier, id string) (r remember.Rule, err error) {
	err = q.QueryRowContext(ctx, `SELECT `+ruleColumns+` FROM rules WHERE id = $1`, id).Scan(ruleFields(&r)...)
	return r, err
}

// RevokeRule ends a rule. The first revocation stays. Calls that the rule has let through, and that have not been made yet, wait
// for a person.
func (s rules) RevokeRule(ctx context.Context, id string, by remember.Revoked) (r remember.Rule, err error) {
	err = s.write(ctx, "", func(q querier) error {
		const query = `UPDATE rules SET revoked = $2 WHERE id = $1 AND revoked IS NULL`
		first, err := changed(q.ExecContext(ctx, query, id, asJSON(&by)))
		if err != nil {
			return err
		}
		if r, err = readRule(ctx, q, id); err != nil || !first {
			return notFound(err)
		}
		return s.addActs(ctx, q, []audit.Act{{
			At: by.At, What: audit.RuleRevoked, Who: by.By, Call: id,
			Detail: audit.Detail("project", r.Where.Project, "why", mask.Shown(ctx, by.Why)),
		}})
	})
	return r, doing(err, "revoke rule %s", id)
}

// countUse counts a call that a rule let through.
func countUse(ctx context.Context, q querier, id string, at time.Time) error {
	const query = `UPDATE rules SET uses = uses + 1, last_used = $2 WHERE id = $1`
	_, err := q.ExecContext(ctx, query, id, timeColumn{&at})
	return err
}

// maybeJSON is a jsonColumn that may be NULL.
type maybeJSON[T any] struct{ to **T }

func (c maybeJSON[T]) Value() (driver.Value, error) {
	if *c.to == nil {
		return nil, nil
	}
	return asJSON(*c.to).Value()
}

func (c maybeJSON[T]) Scan(src any) error {
	*c.to = nil
	if src == nil {
		return nil
	}
	*c.to = new(T)
	return asJSON(*c.to).Scan(src)
}

const pastColumns = `investigation, execution, call, arguments, fate, decision, at`

func pastFields(p *remember.Past) []any {
	return []any{
		&p.Investigation, &p.Execution, textColumn{&p.Call}, textColumn{&p.Arguments}, &p.Fate, textColumn{&p.Decision}, timeColumn{&p.At},
	}
}

// keepPast stores the outcome of a call that an entry records, if rules may be tried on it.
func keepPast(ctx context.Context, q querier, e transcript.Entry) error {
	outcome := outcomeOf(e)
	if outcome == "" {
		return nil
	}
	past := remember.Past{
		Investigation: e.Investigation, Execution: e.Execution, Call: e.Call.ID, Arguments: e.Call.Arguments,
		Fate: outcome, Decision: e.Decision, At: e.At,
	}
	args := append(pastFields(&past), stageOf(e.Execution), storedText(e.Call.Name))
	_, err := q.ExecContext(ctx, insertInto("past_calls", pastColumns+", stage, tool"), args...)
	return err
}

// outcomeOf returns the outcome of a call that an entry records; empty if there is none, or if rules are not tried on it. Read-only
// calls that needed no decision are left out.
func outcomeOf(e transcript.Entry) remember.Fate {
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
func (s rules) Preview(ctx context.Context, r remember.Rule) (p remember.Preview, err error) {
	of, args := callsOf(r)
	looked, fit, err := s.fitting(ctx, r.Matcher(), `SELECT id, fate, `+likely(r, &args)+of+` ORDER BY id DESC`+limitTo(maxPast), args)
	p.Looked, p.Fits = looked, map[remember.Fate]int{}
	for outcome, ids := range fit {
		p.Fits[outcome] = len(ids)
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
func (s rules) fitting(
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
		var outcome, arguments string
		if err := rows.Scan(&id, &outcome, &arguments); err != nil {
			return looked, nil, err
		}
		if parsed, err := remember.Parse(arguments); err == nil && fits(parsed) {
			fit[remember.Fate(outcome)] = append(fit[remember.Fate(outcome)], id)
		}
	}
	return looked, fit, rows.Err()
}

// examples returns some of the calls that a rule matches, starting with those that a person denied.
func (s rules) examples(ctx context.Context, fit map[remember.Fate][]int64) (all []remember.Past, err error) {
	var ids []any
	for _, outcome := range []remember.Fate{remember.Denied, remember.Undecided, remember.Made, remember.Approved} {
		for _, id := range fit[outcome] {
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

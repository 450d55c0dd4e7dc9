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

	"github.com/inquest-dev/inquest/internal/audit"
	"github.com/inquest-dev/inquest/internal/mask"
	"github.com/inquest-dev/inquest/internal/remember"
)

const ruleColumns = `id, tool, rule, expires_at, revoked, uses, last_used`

// ruleFields returns pointers to a rule's columns. The columns after the rule override its fields.
func ruleFields(r *remember.Rule) []any {
	return []any{&r.ID, &r.Tool, asJSON(r), endColumn{&r.Expires}, maybeJSON[remember.Revoked]{&r.Revoked}, &r.Uses, endColumn{&r.LastUsed}}
}

// AddRule saves a rule, which applies from then on.
func (s *Store) AddRule(ctx context.Context, r remember.Rule) error {
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
func (s *Store) Rules(ctx context.Context, tool string, past bool) (all []remember.Rule, err error) {
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
func (s *Store) Rule(ctx context.Context, id string) (r remember.Rule, err error) {
	r, err = readRule(ctx, s.db.reader, id)
	return r, doing(s.db.explain(notFound(err)), "read rule %s", id)
}

func readRule(ctx context.Context, q querier, id string) (r remember.Rule, err error) {
	err = q.QueryRowContext(ctx, `SELECT `+ruleColumns+` FROM rules WHERE id = $1`, id).Scan(ruleFields(&r)...)
	return r, err
}

// RevokeRule ends a rule. The first revocation stays. Calls that the rule has let through, and that have not been made yet, wait
// for a person.
func (s *Store) RevokeRule(ctx context.Context, id string, by remember.Revoked) (r remember.Rule, err error) {
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

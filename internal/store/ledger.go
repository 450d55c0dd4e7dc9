package store

import (
	"context"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Usage returns the sum of an investigation's ledger. It counts what was
// superseded, too: it was paid for.
func (s *Store) Usage(ctx context.Context, investigation string) (agent.Usage, error) {
	sum, err := sumLedger(ctx, s.db.reader, investigation)
	if err != nil {
		return agent.Usage{}, fmt.Errorf("read ledger of %s: %w", investigation, s.db.explain(err))
	}
	return sum, nil
}

func sumLedger(ctx context.Context, q querier, investigation string) (sum agent.Usage, err error) {
	usages, err := selectAll(ctx, q, func(u *agent.Usage) []any { return []any{asJSON(u)} },
		`SELECT usage FROM ledger WHERE investigation = $1`, investigation)
	for _, u := range usages {
		sum = sum.Add(u)
	}
	return sum, err
}

// Admit reserves what a model call needs in an investigation's ledger, before it
// is made, so that all agents share its bounds; if they would be exceeded, it
// says which is, and reserves nothing. A call that is made again, of the same run,
// is admitted again: its reservation stands until the reply is charged.
func (s *Store) Admit(ctx context.Context, a record.Admission) (exceeded agent.EndReason, err error) {
	err = s.write(ctx, a.Investigation, func(q querier) error {
		key := replyKey(a.Execution, a.Iteration, a.RunID)
		var known bool
		if err := q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM ledger WHERE investigation = $1 AND key = $2)`,
			a.Investigation, key).Scan(&known); err != nil || known {
			return err
		}
		used, err := sumLedger(ctx, q, a.Investigation)
		if err != nil {
			return err
		}
		extended, err := extensions(ctx, q, a.Investigation)
		if err != nil {
			return err
		}
		if exceeded = a.Bounds.Extend(extended).Exceeded(used, a.Needs); exceeded != "" {
			return nil
		}
		return enter(ctx, q, a.Investigation, key, a.Provider, a.Model, a.Needs)
	})
	if err != nil {
		return "", fmt.Errorf("reserve model call %d of %s, %s: %w", a.Iteration, a.Investigation, a.Execution, err)
	}
	return exceeded, nil
}

// Extend raises the bounds of an investigation, once for a key.
func (s *Store) Extend(ctx context.Context, investigation, key string, by agent.Extension) error {
	err := s.write(ctx, investigation, func(q querier) error {
		_, err := q.ExecContext(ctx, insertInto("extensions", "investigation, key, extension")+`ON CONFLICT (investigation, key) DO NOTHING`,
			investigation, key, asJSON(&by))
		return err
	})
	if err != nil {
		return fmt.Errorf("extend the budget of %s: %w", investigation, err)
	}
	return nil
}

func extensions(ctx context.Context, q querier, investigation string) (sum agent.Extension, err error) {
	all, err := selectAll(ctx, q, func(e *agent.Extension) []any { return []any{asJSON(e)} },
		`SELECT extension FROM extensions WHERE investigation = $1`, investigation)
	for _, e := range all {
		sum = sum.Add(e)
	}
	return sum, err
}

// charge writes what an entry took to the ledger: a reply in place of its reservation.
func charge(ctx context.Context, q querier, e transcript.Entry) error {
	key := fmt.Sprintf("%s/%d/%d/%s", e.Execution, e.Iteration, e.Position, e.Writer.RunID)
	if e.Kind == transcript.KindReply {
		key = replyKey(e.Execution, e.Iteration, e.Writer.RunID)
	}
	return enter(ctx, q, e.Investigation, key, e.Provider, e.Model, *e.Usage)
}

// replyKey is that of a model call: an execution's run makes one in an iteration.
func replyKey(execution string, iteration int, run string) string {
	return fmt.Sprintf("%s/%d/%s", execution, iteration, run)
}

func enter(ctx context.Context, q querier, investigation, key, provider, model string, usage agent.Usage) error {
	_, err := q.ExecContext(ctx, insertInto("ledger", "investigation, key, provider, model, usage")+
		`ON CONFLICT (investigation, key) `+overwrite("provider, model, usage"), investigation, key, provider, textColumn{&model}, asJSON(&usage))
	return err
}

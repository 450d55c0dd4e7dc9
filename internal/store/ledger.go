package store

import (
	"context"
	"fmt"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Usage returns the sum of an investigation's ledger. It counts what was
// superseded, too: it was paid for.
func (s *Store) Usage(ctx context.Context, investigation string) (agent.Usage, error) {
	usages, err := selectAll(ctx, s.db.reader, func(u *agent.Usage) []any { return []any{asJSON(u)} },
		`SELECT usage FROM ledger WHERE investigation = $1`, investigation)
	if err != nil {
		return agent.Usage{}, fmt.Errorf("read ledger of %s: %w", investigation, s.db.explain(err))
	}
	var sum agent.Usage
	for _, u := range usages {
		sum = sum.Add(u)
	}
	return sum, nil
}

// charge writes what an entry took to the ledger, once.
func charge(ctx context.Context, q querier, e transcript.Entry) error {
	key := fmt.Sprintf("%s/%d/%d/%s", e.Execution, e.Iteration, e.Position, e.Writer.RunID)
	_, err := q.ExecContext(ctx, insertInto("ledger", "investigation, key, provider, model, usage")+
		`ON CONFLICT (investigation, key) DO NOTHING`, e.Investigation, key, e.Provider, textColumn{&e.Model}, asJSON(e.Usage))
	return err
}

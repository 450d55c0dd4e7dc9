package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// usageColumns are the columns of a usage, as sums that are exact.
const usageColumns = `model_calls, tool_calls, input_tokens, output_tokens, cost, ` +
	`cache_read_tokens, cache_write_tokens, reasoning_tokens, image_tokens`

var (
	usageSums   = assign(`CAST(SUM(%) AS BIGINT)`, usageColumns)
	usageOrNone = assign(`COALESCE(%, 0)`, usageColumns) // for an outer join
)

func usageFields(u *agent.Usage) []any {
	return []any{
		&u.ModelCalls, &u.ToolCalls, &u.InputTokens, &u.OutputTokens, costColumn{&u.CostUSD},
		&u.CacheReadTokens, &u.CacheWriteTokens, &u.ReasoningTokens, &u.ImageTokens,
	}
}

// Usage returns the usage charged to an investigation's ledger. It includes superseded calls, because they were paid for.
func (s limits) Usage(ctx context.Context, investigation string) (agent.Usage, error) {
	all, err := s.Usages(ctx, []string{investigation})
	return all[investigation], err
}

// Usages is Usage for many investigations or conversations, by ID. Those without charges are absent.
func (s limits) Usages(ctx context.Context, ids []string) (map[string]agent.Usage, error) {
	all, err := charged(ctx, s.db.reader, ids)
	return all, doing(s.db.explain(err), "read the ledgers of investigations")
}

// askedAtOnce is the number of investigations in one query. A query for fewer repeats one of them, so that its text, which stays
// prepared, is always the same.
const askedAtOnce = 100

func charged(ctx context.Context, q querier, ids []string) (map[string]agent.Usage, error) {
	query := `SELECT investigation, ` + usageSums + ` FROM execution_sums
		WHERE investigation IN (` + places(askedAtOnce) + `) GROUP BY investigation`
	type sum struct {
		id   string
		used agent.Usage
	}
	out := map[string]agent.Usage{}
	err := inChunks(ids, func(args []any) error {
		sums, err := selectAll(ctx, q, func(s *sum) []any { return append([]any{&s.id}, usageFields(&s.used)...) }, query, args...)
		for _, s := range sums {
			out[s.id] = s.used
		}
		return err
	})
	return out, err
}

// inChunks queries many investigations, askedAtOnce at a time.
func inChunks(ids []string, ask func(args []any) error) error {
	for some := range slices.Chunk(ids, askedAtOnce) {
		args := make([]any, askedAtOnce)
		for n := range args {
			args[n] = some[min(n, len(some)-1)]
		}
		if err := ask(args); err != nil {
			return err
		}
	}
	return nil
}

// soFar fills in the usage so far of investigations that have not ended.
func soFar(ctx context.Context, q querier, records []record.Investigation) error {
	var open []string
	for _, r := range records {
		if r.EndedAt == nil {
			open = append(open, r.ID)
		}
	}
	if len(open) == 0 {
		return nil
	}
	used, err := charged(ctx, q, open)
	for n, r := range records {
		if u, known := used[r.ID]; known {
			records[n].Usage = u
		}
	}
	return err
}

// Admit reserves a model call's expected usage in an investigation's ledger before the call, so that all agents share its bounds.
// If the call would exceed them, Admit returns which bound and reserves nothing. A repeated call of the same run is admitted again.
// Its reservation stays until the reply is charged, or until there can be no reply: the execution makes another call, or ends.
func (s limits) Admit(ctx context.Context, a record.Admission) (exceeded agent.EndReason, err error) {
	err = s.write(ctx, a.Investigation, func(q querier) error {
		key := replyKey(a.Execution, a.Iteration, a.RunID)
		var known bool
		if err := q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM ledger WHERE investigation = $1 AND key = $2)
			OR EXISTS (SELECT 1 FROM ledger_reserved WHERE investigation = $1 AND key = $2 AND execution = $3)`,
			a.Investigation, key, a.Execution).Scan(&known); err != nil || known {
			return err
		}
		used, err := claimed(ctx, q, a.Investigation, a.Execution)
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
		_, err = q.ExecContext(ctx, insertInto("ledger_reserved", "investigation, execution, key, "+usageColumns)+
			`ON CONFLICT (investigation, execution) `+overwrite("key, "+usageColumns),
			append([]any{a.Investigation, a.Execution, key}, usageFields(&a.Needs)...)...)
		return err
	})
	return exceeded, doing(err, "reserve model call %d of %s, %s", a.Iteration, a.Investigation, a.Execution)
}

// claimed returns the usage charged to an investigation, plus the reservations of its other executions.
func claimed(ctx context.Context, q querier, investigation, execution string) (sum agent.Usage, err error) {
	all, err := selectAll(ctx, q, usageFields, `SELECT `+usageColumns+` FROM execution_sums WHERE investigation = $1
		UNION ALL SELECT `+usageColumns+` FROM ledger_reserved WHERE investigation = $1 AND execution <> $2`, investigation, execution)
	for _, u := range all {
		sum = sum.Add(u)
	}
	return sum, err
}

// release removes the reservation for a call of an execution.
func release(ctx context.Context, q querier, scope transcript.Scope) error {
	const query = `DELETE FROM ledger_reserved WHERE investigation = $1 AND execution = $2`
	_, err := q.ExecContext(ctx, query, scope.Investigation, scope.Execution)
	return err
}

// Extend raises the bounds of an investigation, once for a key, and writes the acts that record it.
func (s limits) Extend(ctx context.Context, investigation, key string, by plan.Extension, acts ...audit.Act) error {
	err := s.write(ctx, investigation, func(q querier) error {
		_, err := q.ExecContext(ctx, insertInto("extensions", "investigation, key, extension")+`ON CONFLICT (investigation, key) DO NOTHING`,
			investigation, key, asJSON(&by))
		if err != nil {
			return err
		}
		return s.addActs(ctx, q, acts)
	})
	return doing(err, "extend the budget of %s", investigation)
}

func extensions(ctx context.Context, q querier, investigation string) (sum plan.Extension, err error) {
	all, err := selectAll(ctx, q, func(e *plan.Extension) []any { return []any{asJSON(e)} },
		`SELECT extension FROM extensions WHERE investigation = $1`, investigation)
	for _, e := range all {
		sum = sum.Add(e)
	}
	return sum, err
}

// took returns the usage that an entry adds to the ledger. A reply adds the calls that it asks for, unless it concludes: then those
// calls are not made.
func took(e transcript.Entry) (u agent.Usage, something bool) {
	if e.Usage != nil {
		u = *e.Usage
	}
	if e.Kind == transcript.KindReply && !e.Forced {
		u.ToolCalls += len(e.Calls)
	}
	return u, e.Usage != nil || u.ToolCalls > 0
}

// charge writes an entry's usage to the ledger. For a reply or a failed try, it replaces the reservation. The call after such a try
// must be admitted again.
func charge(ctx context.Context, q querier, e transcript.Entry, took agent.Usage) error {
	key := fmt.Sprintf("%s/%d/%d/%s", e.Execution, e.Iteration, e.Position, e.Writer.RunID)
	if e.Kind == transcript.KindReply {
		key = replyKey(e.Execution, e.Iteration, e.Writer.RunID)
	}
	if e.Kind == transcript.KindReply || e.Kind == transcript.KindTry {
		if err := release(ctx, q, e.Scope); err != nil {
			return err
		}
	}
	if _, err := q.ExecContext(ctx, chargeCall, e.Investigation, key, e.Provider, textColumn{&e.Model}, asJSON(&took)); err != nil {
		return err
	}
	_, err := q.ExecContext(ctx, chargeSums, append([]any{e.Investigation, e.Execution}, usageFields(&took)...)...)
	return err
}

// Every model call needs these, so they are built once.
var (
	chargeCall = insertInto("ledger", "investigation, key, provider, model, usage") +
		`ON CONFLICT (investigation, key) ` + overwrite("provider, model, usage")
	chargeSums = insertInto("execution_sums", "investigation, execution, "+usageColumns) +
		`ON CONFLICT (investigation, execution) DO UPDATE SET ` + assign(`% = execution_sums.% + excluded.%`, usageColumns)
)

// replyKey is the key of a model call: an execution's run makes one in an iteration.
func replyKey(execution string, iteration int, run string) string {
	return fmt.Sprintf("%s/%d/%s", execution, iteration, run)
}

// costColumn stores US dollars as integer multiples of 1e-12, so that their sums are exact.
type costColumn struct{ to *float64 }

func (c costColumn) Value() (driver.Value, error) { return int64(math.Round(*c.to * 1e12)), nil }

func (c costColumn) Scan(src any) error {
	parts, ok := src.(int64)
	if !ok {
		return fmt.Errorf("cost column holds %T", src)
	}
	*c.to = float64(parts) / 1e12
	return nil
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/tool"
)

const timeColumns = `ms_1, ms_2, ms_5, ms_10, ms_20, ms_50, ms_100, ms_200, ms_500, ms_1000, ms_2000, ms_5000, slower`

func timeFields(t *tool.Times) (fields []any) {
	for n := range t {
		fields = append(fields, &t[n])
	}
	return fields
}

// ToolTimes returns how long the last calls of a tool or a model took, on all workers. The zero value means that nothing is known.
func (s *Store) ToolTimes(ctx context.Context, name string) (times tool.Times, err error) {
	const query = `SELECT ` + timeColumns + ` FROM tool_times WHERE tool = $1`
	err = s.db.reader.QueryRowContext(ctx, query, storedText(name)).Scan(timeFields(&times)...)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return times, fmt.Errorf("read how long %s takes: %w", name, s.db.explain(err))
	}
	return times, nil
}

// AddToolTimes adds a worker's measurements since its last report, and returns the new total. It keeps what other workers have
// added meanwhile.
func (s *Store) AddToolTimes(ctx context.Context, name string, seen tool.Times, calls int) (times tool.Times, err error) {
	var sums []string
	for column := range strings.SplitSeq(timeColumns, ", ") {
		// PostgreSQL returns an error for a product that is too small for a float.
		sums = append(sums, fmt.Sprintf(
			"%[1]s = CASE WHEN tool_times.%[1]s < 1e-6 THEN 0 ELSE tool_times.%[1]s * $%[2]d END + excluded.%[1]s", column, len(seen)+2))
	}
	query := insertInto("tool_times", "tool, "+timeColumns) +
		`ON CONFLICT (tool) DO UPDATE SET ` + strings.Join(sums, ", ") + ` RETURNING ` + timeColumns
	args := append([]any{storedText(name)}, timeFields(&seen)...)
	err = s.change(ctx, "", func(q querier) error {
		return q.QueryRowContext(ctx, query, append(args, tool.Kept(calls))...).Scan(timeFields(&times)...)
	})
	if err != nil {
		return times, fmt.Errorf("write how long %s takes: %w", name, err)
	}
	return times, nil
}

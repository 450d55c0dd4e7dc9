package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/inquest-dev/inquest/internal/tool"
)

// SaveProgramTools keeps what the tools are that a workers' program has in Go, for
// those who list tools elsewhere. The last one who saves wins.
func (s *Store) SaveProgramTools(ctx context.Context, specs []tool.Spec) error {
	return s.change(ctx, "", func(q querier) error {
		_, err := q.ExecContext(ctx, insertInto("meta", "key, value")+`ON CONFLICT (key) `+overwrite("value"), "tools", asJSON(&specs))
		return err
	})
}

// ProgramTools are those that were saved last.
func (s *Store) ProgramTools(ctx context.Context) (specs []tool.Spec, err error) {
	var text string
	err = s.db.reader.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'tools'`).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, s.db.explain(err)
	}
	return specs, json.Unmarshal([]byte(text), &specs)
}

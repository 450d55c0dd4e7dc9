package store

import (
	"context"

	"github.com/inquest-dev/inquest/internal/agent"
)

// starting is how a record is begun: an INSERT that leaves an existing one alone,
// and what is done if that one has ended.
type starting struct {
	insert string
	fields []any
	status string // selects the status, by key
	reopen string // sets the status ($ after the key's) and clears the end, by key
	key    []any
}

// start begins a record, or begins one again that has ended.
func (s *Store) start(ctx context.Context, investigation string, st starting) error {
	return s.writeRecords(ctx, investigation, func(q querier) error {
		inserted, err := changed(q.ExecContext(ctx, st.insert, st.fields...))
		if err != nil || inserted {
			return err
		}
		var status agent.Status
		if err := q.QueryRowContext(ctx, st.status, st.key...).Scan(&status); err != nil || !status.Closed() {
			return err
		}
		_, err = q.ExecContext(ctx, st.reopen, append(st.key, agent.StatusRunning)...)
		return err
	})
}

// writeRecords is write for records: followers are told that they changed.
func (s *Store) writeRecords(ctx context.Context, investigation string, fn func(querier) error) error {
	return s.write(ctx, investigation, func(q querier) error {
		if err := fn(q); err != nil {
			return err
		}
		return raise(ctx, q, investigation, cursor{records: 1})
	})
}

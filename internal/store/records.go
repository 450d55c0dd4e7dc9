package store

import "context"

// writeRecords is write for records: followers are told that they changed.
func (s *Store) writeRecords(ctx context.Context, investigation string, fn func(querier) error) error {
	return s.write(ctx, investigation, func(q querier) error {
		if err := fn(q); err != nil {
			return err
		}
		return raise(ctx, q, investigation, cursor{records: 1})
	})
}

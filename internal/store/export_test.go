package store

import "context"

// ReadTwice reads the number of an investigation's last entry twice in one
// snapshot, and makes a change in between.
func (s *Store) ReadTwice(ctx context.Context, investigation string, change func()) (first, second int64, err error) {
	err = s.read(ctx, func(q querier) error {
		before, err := standsAt(ctx, q, investigation)
		if err != nil {
			return err
		}
		change()
		after, err := standsAt(ctx, q, investigation)
		first, second = before.seq, after.seq
		return err
	})
	return first, second, err
}

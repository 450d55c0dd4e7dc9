package store

import (
	"context"
	"fmt"
)

// Size is how much room the database takes, in bytes.
func (s *Store) Size(ctx context.Context) (bytes int64, err error) {
	if err := s.db.reader.QueryRowContext(ctx, s.db.sizeQuery()).Scan(&bytes); err != nil {
		return 0, fmt.Errorf("read the store's size: %w", s.db.explain(err))
	}
	return bytes, nil
}

func (db *sqliteFile) sizeQuery() string {
	return `SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()`
}

func (db *postgres) sizeQuery() string { return `SELECT pg_database_size(current_database())` }

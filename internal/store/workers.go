package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/record"
)

// workerGone is the maximum age of a running worker's announcement. Workers announce themselves every minute.
const workerGone = 5 * time.Minute

const workerKey = "worker/"

// AnnounceWorker records a running worker's description of its program, and removes the announcements of workers that are gone.
// Call it at least once a minute.
func (s *Store) AnnounceWorker(ctx context.Context, w record.Worker) error {
	w.Seen = s.Now(ctx).UTC().Truncate(time.Second)
	err := s.change(ctx, "", func(q querier) error {
		others, err := announced(ctx, q)
		if err != nil {
			return err
		}
		for _, other := range others {
			if w.Seen.Sub(other.Seen) <= workerGone {
				continue
			}
			if _, err := q.ExecContext(ctx, `DELETE FROM meta WHERE key = $1`, workerKey+other.Identity); err != nil {
				return err
			}
		}
		_, err = q.ExecContext(ctx, insertInto("meta", "key, value")+`ON CONFLICT (key) `+overwrite("value"), workerKey+w.Identity, asJSON(&w))
		return err
	})
	return doing(err, "announce worker %s", w.Identity)
}

// announced reads the announcements of all workers, including those that are gone.
func announced(ctx context.Context, q querier) (workers []record.Worker, err error) {
	rows, err := q.QueryContext(ctx, `SELECT key, value FROM meta WHERE key LIKE $1 ORDER BY key`, workerKey+"%")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return nil, err
		}
		var w record.Worker
		if err := json.Unmarshal([]byte(value), &w); err != nil {
			return nil, fmt.Errorf("read the announcement of worker %s: %w", strings.TrimPrefix(key, workerKey), err)
		}
		workers = append(workers, w)
	}
	return workers, rows.Err()
}

// runningWorkers reads the announcements of running workers. ahead is how far the announcements' clock is ahead of the local one.
func runningWorkers(ctx context.Context, db *sql.DB, ahead time.Duration) (workers []record.Worker, err error) {
	all, err := announced(ctx, db)
	for _, w := range all {
		if time.Now().Add(ahead).Sub(w.Seen) <= workerGone {
			workers = append(workers, w)
		}
	}
	return workers, err
}

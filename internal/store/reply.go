package store

import (
	"context"
	"fmt"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// Reply returns the reply of one iteration of an execution, whichever run it is
// of; ErrNotFound if there is none that was not superseded.
func (s *Store) Reply(ctx context.Context, scope transcript.Scope, iteration int) (reply transcript.Entry, err error) {
	const query = `SELECT ` + entryColumns + ` FROM entries WHERE superseded = 0 AND investigation = $1 AND execution = $2
		AND iteration = $3 AND kind = '` + string(transcript.KindReply) + `'`
	err = s.db.reader.QueryRowContext(ctx, query, scope.Investigation, scope.Execution, iteration).Scan(entryFields(&reply)...)
	if err != nil {
		return reply, fmt.Errorf("read reply %d of %s, %s: %w", iteration, scope.Investigation, scope.Execution, s.db.explain(notFound(err)))
	}
	return reply, nil
}

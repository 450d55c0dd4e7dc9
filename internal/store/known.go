package store

import (
	"context"
	"fmt"

	"github.com/inquest-dev/inquest/internal/transcript"
)

// LookupCall returns what there is to know before the n-th call of a reply is made,
// in key order and as a rule in one read: the reply, whichever run it is of, and
// the call's intent and result if the same run has appended them, each as a step
// of one row. Other runs are dealt with as in a Lookup of the intent.
func (s *Store) LookupCall(ctx context.Context, scope transcript.Scope, iteration, n int, w transcript.Writer) ([]transcript.Entry, error) {
	c := claim{scope, transcript.CallKey(iteration, n), w.RunID}
	found, settled, err := s.lookupCall(ctx, c, n)
	if err == nil && !settled {
		if _, err = s.lookup(ctx, c); err == nil {
			found, _, err = s.lookupCall(ctx, c, n)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("look up call %s: %w", c, err)
	}
	return found, nil
}

// lookupCall is settled if there are entries and the claim is good. That of the
// intent covers the result.
func (s *Store) lookupCall(ctx context.Context, c claim, n int) (found []transcript.Entry, settled bool, err error) {
	if err := c.check(); err != nil {
		return nil, false, err
	}
	const query = `SELECT ` + entryColumns + `, ` + isNewest + ` AND NOT ` + isDisplacing + `
		FROM entries WHERE superseded = 0 AND investigation = $1 AND execution = $2 AND iteration = $4
			AND (kind = '` + string(transcript.KindReply) + `' OR run_id = $3 AND step = seq AND position IN ($5, $7))
		ORDER BY position`
	fields := func(e *transcript.Entry) []any { return append(entryFields(e), &settled) } // the same in every row
	found, err = selectAll(ctx, s.db.reader, fields, query, append(c.args(), transcript.ResultKey(c.Iteration, n).Position)...)
	return found, settled, s.db.explain(err)
}

package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/memory"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// Journal runs calls that work on an agent's memory, in order, and appends their
// results, each a step of its own; it returns those, one for each key. What run
// does to the memory and the results are one transaction, all of it or nothing:
// an error of run, too, undoes the whole batch. A call whose result this run has
// stored before is not made again. Other runs are dealt with as in Lookup, but
// what a superseded call did to the memory stays done.
//
// Within run no other method of the store may be called.
func (s *Store) Journal(
	ctx context.Context, batch memory.Batch, run func(tx memory.Tx, n int) (transcript.Body, error),
) ([]transcript.Entry, error) {
	if batch.Agent == "" || len(batch.Keys) == 0 {
		return nil, errors.New("journal memory calls: agent and keys must be given")
	}
	var results []transcript.Entry
	err := s.write(ctx, batch.Investigation, func(q querier) error {
		results = nil
		tx, err := s.memoryTx(ctx, q, batch.Agent)
		for n := 0; n < len(batch.Keys) && err == nil; n++ {
			var entry transcript.Entry
			entry, err = journal(ctx, q, batch, batch.Keys[n], func() (transcript.Body, error) { return run(tx, n) })
			results = append(results, entry)
		}
		return err
	})
	if errors.Is(err, errDuplicate) {
		err = fmt.Errorf("%w: %w", ErrConflict, err)
	}
	if err != nil {
		return nil, fmt.Errorf("journal %d memory calls of %s, %s: %w", len(batch.Keys), batch.Investigation, batch.Execution, err)
	}
	return results, nil
}

// journal makes one call, unless its result is stored.
func journal(
	ctx context.Context, q querier, batch memory.Batch, key transcript.Key, run func() (transcript.Body, error),
) (transcript.Entry, error) {
	c := claim{batch.Scope, key, batch.RunID}
	if err := c.check(); err != nil {
		return transcript.Entry{}, err
	}
	st, err := c.enforce(ctx, q)
	if err != nil {
		return transcript.Entry{}, err
	}
	stored, err := c.stored(ctx, q, st)
	if err == nil && stored == nil {
		row := transcript.Row{Key: key, Kind: transcript.KindResult}
		if row.Body, err = run(); err != nil {
			return transcript.Entry{}, err
		}
		stored, err = insertStep(ctx, q, transcript.Step{Scope: batch.Scope, Writer: batch.Writer, Rows: []transcript.Row{row}})
	}
	if err != nil {
		return transcript.Entry{}, err
	}
	return stored[0], nil
}

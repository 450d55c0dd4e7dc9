package store

import (
	"context"
	"errors"

	"github.com/inquest-dev/inquest/internal/memory"
)

// ErrMemoryExists means that an agent already has a memory, and replacing it was not requested.
var ErrMemoryExists = errors.New("the agent has a memory already")

// ExportMemory returns a consistent snapshot of an agent's blocks and archival entries, or ErrNotFound if the agent has no memory.
func (s *Store) ExportMemory(ctx context.Context, agent string) (memory.Snapshot, error) {
	out := memory.Snapshot{Format: memory.Format, Agent: agent}
	err := s.read(ctx, func(q querier) error {
		m := memoryTx{q: q}
		err := q.QueryRowContext(ctx, `SELECT id FROM memories WHERE agent = $1`, textColumn{&agent}).Scan(&m.id)
		if err != nil {
			return notFound(err)
		}
		if out.Blocks, err = m.Blocks(ctx); err != nil {
			return err
		}
		out.Archival, err = selectAll(ctx, q, archivalFields,
			`SELECT `+entryOfArchival+` FROM archival WHERE id BETWEEN $1 AND $2 ORDER BY id`, m.row(0), m.row(1<<32-1))
		return err
	})
	return out, doing(err, "read the memory of %s", agent)
}

// ImportMemory replaces an agent's memory with the snapshot, in one transaction. If the agent has a memory and replace is not set,
// it returns ErrMemoryExists. The searchable conversation stays unchanged.
func (s *Store) ImportMemory(ctx context.Context, agent string, snapshot memory.Snapshot, replace bool) error {
	err := snapshot.Validate()
	if err == nil {
		err = s.write(ctx, "", func(q querier) error {
			m, err := s.memoryTx(ctx, q, agent)
			if err != nil {
				return err
			}
			return m.load(ctx, snapshot, replace)
		})
	}
	return doing(err, "import the memory of %s", agent)
}

func (m *memoryTx) load(ctx context.Context, snapshot memory.Snapshot, replace bool) error {
	if err := m.empty(ctx, replace); err != nil {
		return err
	}
	for _, b := range snapshot.Blocks {
		if err := m.PutBlock(ctx, b); err != nil {
			return err
		}
	}
	last := int64(0)
	for _, e := range snapshot.Archival {
		last = max(last, e.ID)
		if err := m.putEntry(ctx, e); err != nil {
			return err
		}
	}
	// Numbers continue from the highest one ever used, so that an ID never refers to another entry.
	const count = `UPDATE memories SET archived = $2,
		last_archived = CASE WHEN last_archived < $3 THEN $3 ELSE last_archived END WHERE id = $1`
	_, err := m.q.ExecContext(ctx, count, m.id, len(snapshot.Archival), last)
	return err
}

// empty drops blocks and archival entries if replace is set, and otherwise returns an error if there are any.
func (m *memoryTx) empty(ctx context.Context, replace bool) error {
	var something bool
	const query = `SELECT archived > 0 OR EXISTS (SELECT 1 FROM memory_blocks WHERE memory = $1) FROM memories WHERE id = $1`
	if err := m.q.QueryRowContext(ctx, query, m.id).Scan(&something); err != nil || !something {
		return err
	}
	if !replace {
		return ErrMemoryExists
	}
	if _, err := m.q.ExecContext(ctx, `DELETE FROM memory_blocks WHERE memory = $1`, m.id); err != nil {
		return err
	}
	for _, of := range [][2]string{{"archival", "id"}, {"archival_words", "rowid"}} {
		if _, err := m.q.ExecContext(ctx, `DELETE FROM `+of[0]+` WHERE `+of[1]+` BETWEEN $1 AND $2`, m.row(0), m.row(1<<32-1)); err != nil {
			return err
		}
	}
	return nil
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// Remember runs fn on an agent's memory in one transaction, which is rolled back if fn returns an error. fn must not call other
// methods of the store.
func (s memories) Remember(ctx context.Context, agent string, fn func(memory.Tx) error) error {
	return s.remember(ctx, agent, nil, fn)
}

// RememberAs is Remember for a change by a person, which it adds to the audit trail. The Detail of who says which part was changed.
func (s memories) RememberAs(ctx context.Context, agent string, who audit.Act, fn func(memory.Tx) error) error {
	who.What, who.Call = audit.MemoryChanged, agent
	return s.remember(ctx, agent, []audit.Act{who}, fn)
}

func (s memories) remember(ctx context.Context, agent string, acts []audit.Act, fn func(memory.Tx) error) error {
	if agent == "" {
		return errors.New("change a memory: the agent is missing")
	}
	err := s.write(ctx, "", func(q querier) error {
		tx, err := s.memoryTx(ctx, q, agent)
		if err == nil {
			err = fn(tx)
		}
		if err != nil {
			return err
		}
		return s.addActs(ctx, q, acts)
	})
	return doing(err, "change the memory of %s", agent)
}

// Blocks returns an agent's memory blocks, oldest first. It first creates the configured blocks that are absent. A block that the
// configuration marks as read-only has the configured content.
func (s memories) Blocks(ctx context.Context, agent string, configured []memory.Block) ([]memory.Block, error) {
	blocks, err := selectAll(ctx, s.db.reader, blockFields,
		`SELECT `+blockColumns+` FROM memory_blocks JOIN memories ON memory = id WHERE agent = $1 ORDER BY ordinal`, agent)
	if err != nil {
		return nil, fmt.Errorf("read the memory of %s: %w", agent, s.db.explain(err))
	}
	if len(missing(blocks, configured)) == 0 {
		return blocks, nil
	}
	err = s.Remember(ctx, agent, func(tx memory.Tx) error {
		blocks, err = seed(ctx, tx, configured)
		return err
	})
	return blocks, err
}

// missing returns the configured blocks that must be written.
func missing(blocks, configured []memory.Block) []memory.Block {
	var out []memory.Block
	for _, want := range configured {
		i := slices.IndexFunc(blocks, func(b memory.Block) bool { return b.Label == want.Label })
		if i < 0 || want.ReadOnly && blocks[i] != storedBlock(want) {
			out = append(out, want)
		}
	}
	return out
}

func seed(ctx context.Context, tx memory.Tx, configured []memory.Block) ([]memory.Block, error) {
	blocks, err := tx.Blocks(ctx)
	for _, b := range missing(blocks, configured) {
		err = errors.Join(err, tx.PutBlock(ctx, b))
	}
	if err != nil {
		return nil, err
	}
	return tx.Blocks(ctx)
}

// memoryTx opens an agent's memory in a write transaction, and creates it if it is absent. It locks the memory until the
// transaction ends.
func (s memories) memoryTx(ctx context.Context, q querier, agent string) (*memoryTx, error) {
	take := `SELECT id FROM memories WHERE agent = $1 ` + s.db.forUpdate()
	const add = `INSERT INTO memories (agent, archived, last_archived, last_said) VALUES ($1, 0, 0, 0) ON CONFLICT DO NOTHING`
	tx := &memoryTx{q: q, words: s.db.words()}
	err := q.QueryRowContext(ctx, take, textColumn{&agent}).Scan(&tx.id)
	if !errors.Is(err, sql.ErrNoRows) {
		return tx, err
	}
	if _, err := q.ExecContext(ctx, add, textColumn{&agent}); err != nil {
		return nil, err
	}
	return tx, q.QueryRowContext(ctx, take, textColumn{&agent}).Scan(&tx.id)
}

// Journal runs calls on an agent's memory, in order, appends each result as its own step, and returns the results, one for each
// key. The changes of the memory and the results are one transaction: an error of run rolls back the whole batch. A call whose
// result this run has stored before is not repeated. Other runs are treated as in Lookup, except that a superseded call's changes
// of the memory stay.
//
// run must not call other methods of the store.
func (s memories) Journal(
	ctx context.Context, batch memory.Batch, run func(tx memory.Tx, n int) (transcript.Body, error),
) ([]transcript.Entry, error) {
	if batch.Agent == "" || len(batch.Keys) == 0 {
		return nil, errors.New("journal memory calls: agent or keys are missing")
	}
	now := s.Now(ctx)
	var results []transcript.Entry
	err := s.write(ctx, batch.Investigation, func(q querier) error {
		results = nil
		tx, err := s.memoryTx(ctx, q, batch.Agent)
		if err != nil {
			return err
		}
		first := claim{batch.Scope, slices.MinFunc(batch.Keys, transcript.Key.Compare), batch.RunID}
		untouched, err := first.untouched(ctx, q)
		for n := 0; n < len(batch.Keys) && err == nil; n++ {
			var entry transcript.Entry
			row := transcript.Row{Key: batch.Keys[n], At: now}
			entry, err = s.journal(ctx, q, batch, row, untouched, func() (transcript.Body, error) { return run(tx, n) })
			results = append(results, entry)
		}
		return err
	})
	if errors.Is(err, errDuplicate) {
		err = fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return results, doing(err, "journal the memory calls of %s, %s", batch.Investigation, batch.Execution)
}

// journal makes one call, unless its result is stored. untouched means that no result is stored.
func (s memories) journal(
	ctx context.Context, q querier, batch memory.Batch, row transcript.Row, untouched bool, run func() (transcript.Body, error),
) (transcript.Entry, error) {
	var stored []transcript.Entry
	var err error
	if !untouched {
		c := claim{batch.Scope, row.Key, batch.RunID}
		var st standing
		if st, err = c.enforce(ctx, q); err == nil {
			stored, err = c.stored(ctx, q, st)
		}
	}
	if err == nil && stored == nil {
		row.Kind = transcript.KindResult
		if row.Body, err = run(); err != nil {
			return transcript.Entry{}, err
		}
		stored, err = journal(s).insertStep(ctx, q, transcript.Step{
			Scope: batch.Scope, Writer: batch.Writer, Requires: batch.Requires, Rows: []transcript.Row{row},
		})
	}
	if err != nil {
		return transcript.Entry{}, err
	}
	return stored[0], nil
}

// ExportMemory returns a consistent snapshot of an agent's blocks and archival entries, or ErrNotFound if the agent has no memory.
func (s memories) ExportMemory(ctx context.Context, agent string) (memory.Snapshot, error) {
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
// it returns memory.ErrExists. The searchable conversation stays unchanged.
func (s memories) ImportMemory(ctx context.Context, agent string, snapshot memory.Snapshot, replace bool) error {
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
		return memory.ErrExists
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

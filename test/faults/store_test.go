package faults

import (
	"context"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// journal is the real store with failures: before an operation, or after it, so that the data was written but
// the caller received no confirmation.
type journal struct {
	*store.Store
	*faults
}

// reading fails at random.
func reading[T any](ctx context.Context, f *faults, operation string, key transcript.Key, read func() (T, error)) (T, error) {
	if err := f.strike(ctx, readFails, operation, key); err != nil {
		var none T
		return none, err
	}
	return read()
}

// writing fails at random, before or after the write.
func writing[T any](ctx context.Context, f *faults, k kind, operation string, key transcript.Key, write func() (T, error)) (T, error) {
	var none T
	if err := f.strike(ctx, k, operation, key); err != nil {
		return none, err
	}
	out, err := write()
	if err == nil {
		err = f.strike(ctx, k, operation+", after", key)
	}
	if err != nil {
		return none, err
	}
	return out, nil
}

func (j journal) Lookup(ctx context.Context, scope transcript.Scope, key transcript.Key, w transcript.Writer) ([]transcript.Entry, error) {
	return reading(ctx, j.faults, "lookup", key, func() ([]transcript.Entry, error) { return j.Store.Lookup(ctx, scope, key, w) })
}

func (j journal) LookupReply(ctx context.Context, scope transcript.Scope, iteration int, w transcript.Writer) (transcript.Known, error) {
	return j.LookupSince(ctx, scope, 0, iteration, w)
}

func (j journal) LookupSince(
	ctx context.Context, scope transcript.Scope, from, iteration int, w transcript.Writer,
) (transcript.Known, error) {
	key := transcript.Key{Iteration: iteration}
	known, err := reading(ctx, j.faults, "lookup", key,
		func() (transcript.Known, error) { return j.Store.LookupSince(ctx, scope, from, iteration, w) })
	j.offered.Store(placeOf(ctx), known.Catalogues)
	return known, err
}

func (j journal) LookupCall(ctx context.Context, scope transcript.Scope, iteration, n int, w transcript.Writer) (transcript.Known, error) {
	key := transcript.CallKey(iteration, n)
	return reading(ctx, j.faults, "lookup", key, func() (transcript.Known, error) { return j.Store.LookupCall(ctx, scope, iteration, n, w) })
}

func (j journal) AppendReply(ctx context.Context, step transcript.Step) (stored []transcript.Entry, unread int, err error) {
	stored, err = writing(ctx, j.faults, writeFails, "append", step.Rows[0].Key, func() ([]transcript.Entry, error) {
		stored, unread, err = j.Store.AppendReply(ctx, step)
		return stored, err
	})
	return stored, unread, err
}

func (j journal) Post(ctx context.Context, letter transcript.Letter, stages []string) error {
	_, err := writing(ctx, j.faults, writeFails, "post", transcript.Key{}, nothing(func() error { return j.Store.Post(ctx, letter, stages) }))
	return err
}

func (j journal) TakeMail(ctx context.Context, scope transcript.Scope) ([]transcript.Letter, error) {
	return writing(ctx, j.faults, writeFails, "take mail", transcript.Key{},
		func() ([]transcript.Letter, error) { return j.Store.TakeMail(ctx, scope) })
}

func (j journal) Append(ctx context.Context, step transcript.Step) ([]transcript.Entry, error) {
	return writing(ctx, j.faults, writeFails, "append", step.Rows[0].Key,
		func() ([]transcript.Entry, error) { return j.Store.Append(ctx, step) })
}

func (j journal) Entries(ctx context.Context, scope transcript.Scope) ([]transcript.Entry, error) {
	return j.EntriesSince(ctx, scope, 0)
}

func (j journal) EntriesSince(ctx context.Context, scope transcript.Scope, from int) ([]transcript.Entry, error) {
	return reading(ctx, j.faults, "entries of "+scope.Execution, transcript.Key{},
		func() ([]transcript.Entry, error) { return j.Store.EntriesSince(ctx, scope, from) })
}

func (j journal) Reply(ctx context.Context, scope transcript.Scope, iteration int) (transcript.Entry, error) {
	key := transcript.Key{Iteration: iteration}
	return reading(ctx, j.faults, "reply", key, func() (transcript.Entry, error) { return j.Store.Reply(ctx, scope, iteration) })
}

func (j journal) Catalogues(ctx context.Context, scope transcript.Scope) ([]string, error) {
	return reading(ctx, j.faults, "catalogues", transcript.Key{}, func() ([]string, error) { return j.Store.Catalogues(ctx, scope) })
}

func (j journal) SaveCatalogue(ctx context.Context, scope transcript.Scope, c tool.Catalogue) error {
	_, err := writing(ctx, j.faults, writeFails, "catalogue", transcript.Key{},
		nothing(func() error { return j.Store.SaveCatalogue(ctx, scope, c) }))
	return err
}

func (j journal) Investigation(ctx context.Context, id string) (record.Investigation, error) {
	return reading(ctx, j.faults, "investigation", transcript.Key{},
		func() (record.Investigation, error) { return j.Store.Investigation(ctx, id) })
}

func (j journal) StartInvestigation(ctx context.Context, inv record.Investigation) error {
	_, err := writing(ctx, j.faults, writeFails, "start", transcript.Key{},
		nothing(func() error { return j.Store.StartInvestigation(ctx, inv) }))
	return err
}

func (j journal) FinishInvestigation(ctx context.Context, inv record.Investigation) error {
	_, err := writing(ctx, j.faults, writeFails, "finish", transcript.Key{},
		nothing(func() error { return j.Store.FinishInvestigation(ctx, inv) }))
	return err
}

func (j journal) StartExecution(ctx context.Context, exec record.Execution, run string) error {
	_, err := writing(ctx, j.faults, writeFails, "execution", transcript.Key{},
		nothing(func() error { return j.Store.StartExecution(ctx, exec, run) }))
	return err
}

func (j journal) SetModel(ctx context.Context, exec record.Execution) error {
	_, err := writing(ctx, j.faults, writeFails, "model", transcript.Key{}, nothing(func() error { return j.Store.SetModel(ctx, exec) }))
	return err
}

func (j journal) SaveStage(ctx context.Context, stage record.Stage, execs []record.Execution, envelope *record.Envelope) error {
	save := func() error { return j.Store.SaveStage(ctx, stage, execs, envelope) }
	_, err := writing(ctx, j.faults, writeFails, "stage", transcript.Key{}, nothing(save))
	return err
}

func (j journal) PutBlob(ctx context.Context, data []byte) (string, error) {
	return writing(ctx, j.faults, writeFails, "put blob", transcript.Key{}, func() (string, error) { return j.Store.PutBlob(ctx, data) })
}

func (j journal) Blob(ctx context.Context, hash string) ([]byte, error) {
	return reading(ctx, j.faults, "blob", transcript.Key{}, func() ([]byte, error) { return j.Store.Blob(ctx, hash) })
}

func (j journal) Admit(ctx context.Context, a record.Admission) (agent.EndReason, error) {
	return writing(ctx, j.faults, writeFails, "admit", transcript.Key{}, func() (agent.EndReason, error) { return j.Store.Admit(ctx, a) })
}

func (j journal) Blocks(ctx context.Context, agent string, configured []memory.Block) ([]memory.Block, error) {
	return reading(ctx, j.faults, "blocks", transcript.Key{}, func() ([]memory.Block, error) { return j.Store.Blocks(ctx, agent, configured) })
}

// Journal fails as a transaction does: at its start, within a write, or with an unknown commit.
func (j journal) Journal(ctx context.Context, batch memory.Batch,
	run func(memory.Tx, int) (transcript.Body, error)) ([]transcript.Entry, error) {
	return writing(ctx, j.faults, memoryFails, "transaction", batch.Keys[0], func() ([]transcript.Entry, error) {
		return j.Store.Journal(ctx, batch, func(tx memory.Tx, n int) (transcript.Body, error) {
			return run(failingTx{tx, j.faults, batch.Keys[n]}, n)
		})
	})
}

// inMemory is the operation that changes a memory, within the transaction.
const inMemory = "change"

// failingTx fails in the writes of one call.
type failingTx struct {
	memory.Tx
	*faults
	key transcript.Key
}

func (t failingTx) PutBlock(ctx context.Context, b memory.Block) error {
	if err := t.strike(ctx, memoryFails, inMemory, t.key); err != nil {
		return err
	}
	return t.Tx.PutBlock(ctx, b)
}

func (t failingTx) InsertArchival(ctx context.Context, content string) (int64, error) {
	if err := t.strike(ctx, memoryFails, inMemory, t.key); err != nil {
		return 0, err
	}
	return t.Tx.InsertArchival(ctx, content)
}

func nothing(write func() error) func() (struct{}, error) {
	return func() (struct{}, error) { return struct{}{}, write() }
}

func (j journal) Share(ctx context.Context, sharing transcript.Sharing) error {
	_, err := writing(ctx, j.faults, writeFails, "share", transcript.Key{}, func() (struct{}, error) {
		return struct{}{}, j.Store.Share(ctx, sharing)
	})
	return err
}

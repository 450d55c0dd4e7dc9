package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/workflows"
)

// Waiting returns the items that need people or providers, in one investigation or conversation or, with an empty ID, in all. It takes
// one query of the store. Without a store, or if the store does not know the ID, it queries the workflows. The error names the workflows
// that do not answer.
func (c *reader) Waiting(ctx context.Context, id string) ([]record.Waiting, error) {
	all, known, err := c.storedWaiting(ctx, id)
	if known || err != nil {
		return all, err
	}
	return c.askWaiting(ctx, id)
}

// storedWaiting returns the pending items in the store, without those of terminated workflows if Temporal answers: they could not
// remove theirs. The store does not know conversations with nothing pending.
func (c *reader) storedWaiting(ctx context.Context, id string) (all []record.Waiting, known bool, err error) {
	st, err := c.Store(ctx)
	if err != nil || st == nil {
		return nil, false, err
	}
	if all, err = st.Waiting(ctx, id); err != nil {
		return nil, false, err
	}
	records := make([]record.Investigation, len(all))
	for n, w := range all {
		records[n].WorkflowID = w.WorkflowID
	}
	_ = c.correct(ctx, records)
	ended := map[string]bool{}
	for _, r := range records {
		ended[r.WorkflowID] = r.EndedAt != nil
	}
	all = slices.DeleteFunc(all, func(w record.Waiting) bool { return ended[w.WorkflowID] })
	if len(all) > 0 || id == "" {
		return all, true, nil
	}
	switch w, err := c.Outcome(ctx, id); {
	case errors.Is(err, record.ErrNotFound):
		return nil, false, nil
	case err == nil && w.Status != nil:
		return nil, true, &EndedError{w.Investigation.ID, w.Investigation.Status}
	default:
		return nil, true, err
	}
}

// askWaiting queries one workflow, or every running investigation. Investigations that do not answer do not affect the others.
func (c *reader) askWaiting(ctx context.Context, id string) (all []record.Waiting, err error) {
	running := make([]handle, 1)
	if id == "" {
		running, err = c.running(ctx)
	} else {
		running[0], err = c.findRunning(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	var silent []error
	for n, answer := range askAll(ctx, running) {
		if answer.err != nil {
			silent = append(silent, answer.err)
			continue
		}
		h := running[n]
		all = append(all, record.Waiting{Investigation: h.ID(), WorkflowID: h.Workflow, Waits: answer.status.Waits()})
	}
	switch {
	case ctx.Err() != nil:
		return all, ctx.Err()
	case len(silent) == 0 || id != "":
		return all, errors.Join(silent...)
	}
	advice := fmt.Errorf("the pending items of %d of %d running investigations are unknown. Start a worker for them and try again",
		len(silent), len(running))
	return all, errors.Join(append(silent[:min(len(silent), maxSilent)], advice)...)
}

// maxSilent limits how many unresponsive investigations an error names.
const maxSilent = 10

// answered is an investigation's answer to a status query.
type answered struct {
	status workflows.Status
	err    error
}

// askedAtOnce limits concurrent queries. Each takes a worker's time.
const askedAtOnce = 8

// askAll queries investigations for their status and keeps their order.
func askAll(ctx context.Context, running []handle) []answered {
	out := make([]answered, len(running))
	slots := make(chan struct{}, askedAtOnce)
	var group sync.WaitGroup
	for n, h := range running {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			out[n].err = h.ask(ctx, queryTimeout, &out[n].status)
		})
	}
	group.Wait()
	return out
}

package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/inquest-dev/inquest/internal/bundle"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

// Export returns an ended investigation as a bundle, and its seal.
func (c *reader) Export(ctx context.Context, id string) (file []byte, seal string, err error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return nil, "", err
	}
	content, err := contentOf(ctx, st, id)
	if err != nil {
		return nil, "", err
	}
	return bundle.Write(content, time.Now())
}

func contentOf(ctx context.Context, st *store.Store, id string) (c bundle.Content, err error) {
	if c.Record, err = st.FindInvestigation(ctx, id); err != nil {
		return c, err
	}
	if !c.Record.Status.Closed() {
		return c, &system.InputError{Err: fmt.Errorf("investigation %s is %s: export it after it has ended", c.Record.ID, c.Record.Status)}
	}
	err = st.Rows(ctx, c.Record.ID, func(r record.Row) error {
		c.Rows = append(c.Rows, r)
		return nil
	})
	if err != nil {
		return c, err
	}
	if err := readBlobs(ctx, st, &c); err != nil {
		return c, err
	}
	if c.Entries, err = st.After(ctx, c.Record.ID, 0, 0); err != nil {
		return c, err
	}
	err = st.Acts(ctx, record.ActFilter{Investigation: c.Record.ID}, func(a audit.Act) error {
		c.Acts = append(c.Acts, a)
		return nil
	})
	c.Schema = store.KnownSchema()
	return c, err
}

// readBlobs reads the blobs that the rows refer to, and those of the plan. A name that no blob has is no reference.
func readBlobs(ctx context.Context, st *store.Store, c *bundle.Content) (err error) {
	c.Blobs = map[string][]byte{}
	c.Plan, err = st.Blob(ctx, c.Record.PlanHash)
	if err != nil && !errors.Is(err, record.ErrNotFound) { // an investigation that never began has no plan
		return fmt.Errorf("the plan of %s: %w", c.Record.ID, err)
	}
	for _, name := range append(bundle.Refs(c.Rows), bundle.RefsIn(c.Plan)...) {
		data, err := st.Blob(ctx, name)
		if errors.Is(err, record.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		c.Blobs[name] = data
	}
	c.Request = c.Blobs[c.Record.DataHash]
	return nil
}

// Import writes the investigation of a bundle into the store, and returns its ID. It returns store.ErrExists if the store has it.
func (c *reader) Import(ctx context.Context, b bundle.Bundle) (id string, err error) {
	st, err := c.needStore(ctx)
	if err != nil {
		return "", err
	}
	if err := b.CheckSchema(store.KnownSchema()); err != nil {
		return "", &system.InputError{Err: err}
	}
	return b.Investigation, st.Add(ctx, b.Investigation, b.Rows, maps.Values(b.Blobs))
}

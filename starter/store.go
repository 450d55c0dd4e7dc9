package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/store"
)

// storePath is where the workers' store is, or would be: a file, or an address.
func (c *cli) storePath() (string, error) {
	if c.store != "" {
		return c.store, nil
	}
	return command.DefaultStore()
}

// openStore opens the workers' store; nil if it is not on this machine. It never
// makes one.
func (c *cli) openStore(ctx context.Context) (*store.Store, error) {
	path, err := c.storePath()
	if err != nil {
		return nil, err
	}
	if store.IsDSN(path) {
		return store.Open(ctx, store.At(path))
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if info.IsDir() {
		return nil, usagef("--store %s is a folder: give the path of the SQLite file in it", path)
	}
	return store.Open(ctx, store.At(path))
}

// withStore calls fn with the store, or nil where there is none.
func (c *cli) withStore(ctx context.Context, fn func(*store.Store) error) error {
	st, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	if st == nil {
		return fn(nil)
	}
	return errors.Join(fn(st), st.Close())
}

// sayNoStore tells why less is shown than there might be.
func (c *cli) sayNoStore() {
	path, err := c.storePath()
	if err != nil {
		c.say("%v", err)
	}
	c.say("no store at %s: showing what Temporal knows (--store says where the workers' store is)", store.At(path))
}

// offloaded is what workers have kept in their store because it is too large for
// Temporal. Next to nothing is: the store is opened when it is needed.
type offloaded struct{ *cli }

// Blob implements payload.Reader.
func (o offloaded) Blob(ctx context.Context, hash string) (data []byte, err error) {
	err = o.withStore(ctx, func(st *store.Store) error {
		if st == nil {
			return errors.New("it is in the workers' store, which is not here (--store)")
		}
		data, err = st.Blob(ctx, hash)
		return err
	})
	return data, err
}

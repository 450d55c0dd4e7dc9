// Package client serves the users of the system: the command line, the API and Go programs. It starts, finds, follows and steers
// investigations and conversations. It is the only package that joins Temporal, which knows the running workflows, with the workers'
// store, which keeps the content.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	sdk "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/inquest-dev/inquest/internal/dial"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/workflows"
)

const (
	dialTimeout = 5 * time.Second
	// CallTimeout limits calls to Temporal and the acceptance of a request by a worker. It exceeds the time for which a dead worker
	// can still hold a workflow task.
	CallTimeout  = workflows.WorkflowTaskTimeout + 3*time.Second
	queryTimeout = 3 * time.Second // a workflow answers at once if its worker is alive
)

// Options describes where the system is.
type Options struct {
	// Temporal returns the connection options and the keys that decrypt payloads. It is called before the first connection.
	Temporal func() (sdk.Options, payload.Keys, error)
	// TaskQueue is the workers' task queue.
	TaskQueue string
	// Store is the workers' store. The client works without it until its file exists, and never creates it.
	Store store.Options
	// Tell receives messages for people about the reason for a slow call; nil means no messages.
	Tell func(text string)
}

// Client uses one system. It connects on demand: finished investigations are read from the store alone. It is safe for concurrent use.
type Client struct {
	opts Options

	dialing sync.Mutex
	conn    sdk.Client
	keys    payload.Keys

	opening sync.Mutex
	store   *store.Store

	borrowed bool // conn and store belong to someone else

	waking sharedCall
}

// New returns a client. The caller must close it.
func New(opts Options) *Client {
	if opts.Tell == nil {
		opts.Tell = func(string) {}
	}
	return &Client{opts: opts}
}

// Close closes the connections.
func (c *Client) Close() error {
	c.dialing.Lock()
	defer c.dialing.Unlock()
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.borrowed {
		return nil
	}
	if c.conn != nil {
		c.conn.Close()
	}
	if c.store == nil {
		return nil
	}
	return c.store.Close()
}

// InputError means that the input is wrong and the caller can correct it.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// ErrNoStore means that the operation needs the workers' store, which is not available here.
var ErrNoStore = errors.New("it is in the workers' store, which is not here")

// FolderError is the path of a folder where a store's file should be.
type FolderError struct{ Path string }

func (e *FolderError) Error() string {
	return e.Path + " is a folder, not the SQLite file of a store"
}

// UnreachableError means that Temporal does not answer.
type UnreachableError struct {
	Address string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("Temporal at %s does not answer: %v", e.Address, e.Err)
}
func (e *UnreachableError) Unwrap() error { return e.Err }

// Store opens the workers' store, or returns nil if there is none. The client closes it.
func (c *Client) Store(ctx context.Context) (*store.Store, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.store != nil || c.opts.Store == (store.Options{}) {
		return c.store, nil
	}
	if path := c.opts.Store.Path; path != "" {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("open store: %w", err)
		case info.IsDir():
			return nil, &FolderError{path}
		}
	}
	st, err := store.Open(ctx, c.opts.Store)
	c.store = st
	return st, err
}

// Blob reads content that was too large for Temporal. It returns ErrNoStore without a store, and record.ErrNotFound if the workers
// use another store.
func (c *Client) Blob(ctx context.Context, hash string) ([]byte, error) {
	st, err := c.Store(ctx)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, ErrNoStore
	}
	return st.Blob(ctx, hash)
}

// Text replaces the beginning of a text that was too large for Temporal with the whole text. An empty ref means that it was not too
// large. On an error, which is one of Blob's, the text stays unchanged.
func (c *Client) Text(ctx context.Context, text *string, ref string) error {
	if ref == "" {
		return nil
	}
	whole, err := c.Blob(ctx, ref)
	if err == nil {
		*text = string(whole)
	}
	return err
}

// Dial connects to Temporal. Other methods connect on demand.
func (c *Client) Dial(ctx context.Context) error {
	_, err := c.temporal(ctx)
	return err
}

// Ping reports whether Temporal answers.
func (c *Client) Ping(ctx context.Context) error {
	conn, err := c.temporal(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	_, err = conn.CheckHealth(ctx, &sdk.CheckHealthRequest{})
	return err
}

// temporal returns the connection to Temporal and connects if necessary.
func (c *Client) temporal(ctx context.Context) (sdk.Client, error) {
	c.dialing.Lock()
	defer c.dialing.Unlock()
	if c.conn != nil {
		return c.conn, nil
	}
	opts, keys, err := c.opts.Temporal()
	if err != nil {
		return nil, err
	}
	opts.HostPort = cmp.Or(opts.HostPort, sdk.DefaultHostPort)
	if opts.Logger == nil {
		opts.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	}
	keys.Protect(&opts)
	opts.ExternalStorage = payload.Reading(c)
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := dial.Temporal(dialing, opts)
	switch {
	case err == nil:
		c.conn, c.keys = conn, keys
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, &UnreachableError{opts.HostPort, err}
}

// wait waits for d. It reports false if ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

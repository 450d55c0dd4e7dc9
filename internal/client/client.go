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
	"github.com/inquest-dev/inquest/internal/system"
)

const (
	dialTimeout  = 5 * time.Second
	callTimeout  = system.AcceptTimeout
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
//
// Each part uses the one below it: Client starts, steers and talks; scheduler schedules; reader reads and follows; finder finds;
// connection connects.
type Client struct {
	scheduler
	waking sharedCall
}

type scheduler struct{ reader }

type reader struct{ finder }

type finder struct{ connection }

// connection holds the connections to Temporal and to the workers' store.
type connection struct {
	opts Options

	dialing sync.Mutex
	conn    sdk.Client
	keys    payload.Keys
	// namespace is that of the connection.
	namespace string

	opening sync.Mutex
	store   *store.Store

	borrowed bool // conn and store belong to someone else
}

// New returns a client. The caller must close it.
func New(opts Options) *Client {
	if opts.Tell == nil {
		opts.Tell = func(string) {}
	}
	return &Client{scheduler: scheduler{reader{finder{connection{opts: opts}}}}}
}

// Close closes the connections.
func (c *connection) Close() error {
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

// Store opens the workers' store, or returns nil if there is none. The client closes it.
func (c *connection) Store(ctx context.Context) (*store.Store, error) {
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
			return nil, &system.FolderError{Path: path}
		}
	}
	st, err := store.Open(ctx, c.opts.Store)
	c.store = st
	return st, err
}

// Blob reads content that was too large for Temporal. It returns system.ErrNoStore without a store, and record.ErrNotFound if the workers
// use another store.
func (c *connection) Blob(ctx context.Context, hash string) ([]byte, error) {
	st, err := c.Store(ctx)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, system.ErrNoStore
	}
	return st.Blob(ctx, hash)
}

// Text replaces the beginning of a text that was too large for Temporal with the whole text. An empty ref means that it was not too
// large. On an error, which is one of Blob's, the text stays unchanged.
func (c *connection) Text(ctx context.Context, text *string, ref string) error {
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
func (c *connection) Dial(ctx context.Context) error {
	_, err := c.temporal(ctx)
	return err
}

// Ping reports whether Temporal answers.
func (c *connection) Ping(ctx context.Context) error {
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
func (c *connection) temporal(ctx context.Context) (sdk.Client, error) {
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
		c.conn, c.keys, c.namespace = conn, keys, cmp.Or(opts.Namespace, sdk.DefaultNamespace)
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, &system.UnreachableError{Address: opts.HostPort, Err: err}
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

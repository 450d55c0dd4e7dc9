// Package client is for whoever uses the system: the command line, the API, Go
// programs. It starts, finds, follows and steers investigations and conversations. It
// alone joins Temporal, which knows what runs, and the workers' store, which keeps what
// was said.
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
	// CallTimeout is how long Temporal, or a worker that is to take a request, may take: more
	// than a worker that died keeps its turn.
	CallTimeout  = workflows.WorkflowTaskTimeout + 3*time.Second
	queryTimeout = 3 * time.Second // a workflow answers at once, if its worker lives
)

// Options say where the system is.
type Options struct {
	// Temporal says how Temporal is reached, and which keys decrypt what it keeps. It is
	// called before the first connection.
	Temporal func() (sdk.Options, payload.Keys, error)
	// TaskQueue is that of the workers.
	TaskQueue string
	// Store is the workers' store. Until its file is there, the client does without; it
	// never makes one.
	Store store.Options
	// Tell is told, in words for people, what a call waits for that takes long; nil = nobody is.
	Tell func(text string)
}

// Client uses one system. It connects when it has to: what has ended is read from the
// store alone. Its methods may be called by any number of goroutines.
type Client struct {
	opts Options

	dialing sync.Mutex
	conn    sdk.Client
	keys    payload.Keys

	opening sync.Mutex
	store   *store.Store

	borrowed bool // both are another's

	waking sharedCall
}

// New returns a client. Close it in the end.
func New(opts Options) *Client {
	if opts.Tell == nil {
		opts.Tell = func(string) {}
	}
	return &Client{opts: opts}
}

// Close ends the connections.
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

// InputError: the input is wrong, and the caller can mend it.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// ErrNoStore: what is asked for is in the workers' store, which is not here.
var ErrNoStore = errors.New("it is in the workers' store, which is not here")

// FolderError is the path of a folder that stands where a store's file should be.
type FolderError struct{ Path string }

func (e *FolderError) Error() string {
	return e.Path + " is a folder, not the SQLite file of a store"
}

// UnreachableError: no Temporal answers.
type UnreachableError struct {
	Address string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("Temporal at %s does not answer: %v", e.Address, e.Err)
}
func (e *UnreachableError) Unwrap() error { return e.Err }

// Store opens the workers' store, which ends with the client; nil if it is not here.
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

// Blob reads what was too large for Temporal. The error is ErrNoStore where there is no
// store, and record.ErrNotFound where the workers use another one.
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

// Text replaces the beginning of a text that was too large for Temporal by the whole of it; ref "" = it was not too
// large. The errors are those of Blob, and leave the text as it is.
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

// Dial connects to Temporal, which other methods do when they need it.
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

// temporal connects to Temporal.
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

// wait waits for d, and reports whether ctx has not ended meanwhile.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

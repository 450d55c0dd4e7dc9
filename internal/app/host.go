package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/store"
)

// HostOptions is what a process needs to be a worker.
type HostOptions struct {
	Temporal client.Options
	Data     string // the folder of INQUEST_DATA
	Config   string // directory or file; "" = built-in only
	// Store is the path of a SQLite file or a postgres:// address; "" = as the
	// configuration says, else DefaultStore.
	Store        string
	DefaultStore string
	// AdoptStore takes over a SQLite file that another host has marked: see store.Options.
	AdoptStore bool
	TaskQueue  string
	Drain      time.Duration
	// DeploymentVersion: see WorkerOptions.
	DeploymentVersion string
	// Embedding: the host is a part of another program; nil = it is one of ours.
	Embedding *Embedding
	Logger    *slog.Logger
}

// Host is a worker with all that it opened.
type Host struct {
	Client  client.Client
	Store   *store.Store
	Config  *config.Live
	opts    HostOptions
	hup     chan os.Signal
	worker  *Worker
	unwatch context.CancelFunc
}

// StartHost makes a host and starts it.
func StartHost(ctx context.Context, opts HostOptions) (*Host, error) {
	h, err := NewHost(ctx, opts)
	if err != nil {
		return nil, err
	}
	if err := h.Start(ctx); err != nil {
		return nil, errors.Join(err, h.Stop())
	}
	return h, nil
}

// NewHost loads the configuration, opens the store and dials Temporal: everything
// that can be wrong on this side is found before the dial.
func NewHost(ctx context.Context, opts HostOptions) (*Host, error) {
	h := &Host{opts: opts, hup: make(chan os.Signal, 1), unwatch: func() {}}
	live, err := config.NewLive(config.LiveOptions{Source: opts.source(), Reload: h.hup, Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	for _, finding := range live.Current().Warnings() {
		opts.Logger.Debug("configuration", "finding", finding.String())
	}
	if opts.Embedding == nil {
		if err := PrepareSample(opts.Data); err != nil {
			return nil, err
		}
		signal.Notify(h.hup, syscall.SIGHUP) // another program's signals are left to it
	}
	h.Config = live
	if err := h.connect(ctx); err != nil {
		return nil, errors.Join(err, h.Stop())
	}
	return h, nil
}

// Start begins to work, and to follow the configuration's files.
func (h *Host) Start(ctx context.Context) (err error) {
	watch, cancel := context.WithCancel(ctx)
	h.unwatch = cancel
	go h.Config.Watch(watch)
	h.worker, err = StartWorker(ctx, WorkerOptions{
		Client: h.Client, Namespace: h.opts.Temporal.Namespace, TaskQueue: h.opts.TaskQueue,
		Config: h.Config, Store: h.Store, Tools: h.opts.tools(), Drain: h.opts.Drain,
		DeploymentVersion: h.opts.DeploymentVersion, Logger: h.opts.Logger,
	})
	return err
}

// storeOptions says which store: the one that was asked for, else the
// configuration's, else the default. What is not used is not looked at: its
// variables need not be set.
func (h *Host) storeOptions(opts HostOptions) (store.Options, error) {
	out := store.At(opts.Store)
	if opts.Store == "" {
		target, err := h.Config.Current().Store()
		if err != nil {
			return store.Options{}, err
		}
		out = store.Options{DSN: target.Postgres}
		if target.Postgres == "" {
			out.Path = cmp.Or(target.SQLite, opts.DefaultStore)
		}
	}
	out.Logger, out.Adopt = opts.Logger, opts.AdoptStore
	return out, nil
}

func (h *Host) connect(ctx context.Context) (err error) {
	opts := h.opts
	where, err := h.storeOptions(opts)
	if err != nil {
		return err
	}
	if h.Store, err = store.Open(ctx, where); err != nil {
		return err
	}
	opts.Temporal.ExternalStorage = payload.Storage(h.Store)
	opts.Temporal.Logger = sdklog.NewStructuredLogger(opts.Logger)
	dial, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	if h.Client, err = client.DialContext(dial, opts.Temporal); err != nil {
		return fmt.Errorf("connect to Temporal at %s: %w", opts.Temporal.HostPort, err)
	}
	return nil
}

// Wait returns when ctx ends, or with the error that the worker cannot go on after.
func (h *Host) Wait(ctx context.Context) error { return h.worker.Wait(ctx) }

// Stop drains the worker and closes what was opened, in the opposite order.
func (h *Host) Stop() error {
	signal.Stop(h.hup)
	h.unwatch()
	if h.worker != nil {
		h.worker.Stop()
	}
	if h.Client != nil {
		h.Client.Close()
	}
	if h.Store != nil {
		return h.Store.Close()
	}
	return nil
}

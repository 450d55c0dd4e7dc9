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
	"github.com/inquest-dev/inquest/internal/command"
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
	TaskQueue    string
	Drain        time.Duration
	// DeploymentVersion: see WorkerOptions.
	DeploymentVersion string
	Logger            *slog.Logger
}

// Host is a worker with all that it opened.
type Host struct {
	Client  client.Client
	Store   *store.Store
	Config  *config.Live
	worker  *Worker
	unwatch context.CancelFunc
}

// StartHost loads the configuration, opens the store, dials Temporal and starts
// the worker: everything that can be wrong on this side is found before the dial.
func StartHost(ctx context.Context, opts HostOptions) (*Host, error) {
	hup := make(chan os.Signal, 1)
	live, err := config.NewLive(config.LiveOptions{
		Source: config.Source{Dir: opts.Config, Env: command.Env(opts.Data)}, Reload: hup, Logger: opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	for _, finding := range live.Current().Warnings() {
		opts.Logger.Debug("configuration", "finding", finding.String())
	}
	if err := PrepareSample(opts.Data); err != nil {
		return nil, err
	}
	h := &Host{Config: live}
	signal.Notify(hup, syscall.SIGHUP)
	watch, cancel := context.WithCancel(ctx)
	h.unwatch = func() { signal.Stop(hup); cancel() }
	go live.Watch(watch)
	if err := h.start(ctx, opts); err != nil {
		return nil, errors.Join(err, h.Stop())
	}
	return h, nil
}

// storeOptions says which store: the one that was asked for, else the
// configuration's, else the default.
func (h *Host) storeOptions(opts HostOptions) (store.Options, error) {
	target, err := h.Config.Current().Store()
	if err != nil {
		return store.Options{}, err
	}
	out := store.At(cmp.Or(opts.Store, target.Postgres, target.SQLite, opts.DefaultStore))
	out.Logger = opts.Logger
	return out, nil
}

func (h *Host) start(ctx context.Context, opts HostOptions) (err error) {
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
	h.worker, err = StartWorker(ctx, WorkerOptions{
		Client: h.Client, Namespace: opts.Temporal.Namespace, TaskQueue: opts.TaskQueue,
		Config: h.Config, Store: h.Store, Drain: opts.Drain,
		DeploymentVersion: opts.DeploymentVersion, Logger: opts.Logger,
	})
	return err
}

// Wait returns when ctx ends, or with the error that the worker cannot go on after.
func (h *Host) Wait(ctx context.Context) error { return h.worker.Wait(ctx) }

// Stop drains the worker and closes what was opened, in the opposite order.
func (h *Host) Stop() error {
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

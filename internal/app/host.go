package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/config"
	inquest "github.com/inquest-dev/inquest/internal/client"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/dial"
	"github.com/inquest-dev/inquest/internal/face/notify"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/workflows"
)

// HostOptions configures a process that is a worker.
type HostOptions struct {
	// Settings take precedence over limits in the configuration.
	Settings
	Temporal client.Options
	Data     string // the folder in INQUEST_DATA
	Config   string // directory or file; empty means only the built-in entries
	// Store is the path of a SQLite file or a postgres:// address. If it is empty, the configuration decides, and then
	// DefaultStore.
	Store        string
	DefaultStore string
	// AdoptStore takes over a SQLite file that another host has marked (see store.Options) or that belonged to another namespace.
	// It also makes the store the fleet's, in place of another one.
	AdoptStore bool
	// TemporaryStore means that the store ends with the process, so no other process shares it.
	TemporaryStore bool
	// DefaultDrain is the drain time if neither Settings nor the configuration sets one; 0 means the constant DefaultDrain.
	DefaultDrain time.Duration
	// CachedWorkflows is how many workflows the process keeps in memory between their tasks; 0 means the result of the function
	// CachedWorkflows.
	CachedWorkflows int
	// Getenv reads the variables with the encryption keys; nil means os.Getenv.
	Getenv func(string) string
}

// CachedWorkflows returns the default number of workflows that a worker keeps in memory between their tasks, for a worker with the
// given number of calls. A workflow outside the cache is replayed from its history at its next event (docs/adr/0029).
func CachedWorkflows(calls int) int { return max(cmp.Or(calls, DefaultMaxCalls), MinCachedWorkflows) }

// MinCachedWorkflows is the smallest cache of a worker. Even a worker with few concurrent calls may have many agents waiting for
// their turn.
const MinCachedWorkflows = 200

// ErrNoStore means that no store is configured for the worker to share.
var ErrNoStore = errors.New("no store configured: set --store, INQUEST_STORE or system.store to the same value for all workers, and " +
	"--store or INQUEST_STORE for starter (a postgres:// address, or the path of a SQLite file if all run on one host; with dev, " +
	"the path that dev prints)")

// Host is a worker with everything that it opened.
type Host struct {
	Client  client.Client
	Store   *store.Store
	Config  *configuration.Live
	opts    HostOptions
	keys    payload.Keys
	where   store.Options
	hup     chan os.Signal
	worker  *Worker
	unwatch context.CancelFunc

	notifications configuration.Notifications
	background    sync.WaitGroup // what uses the store beside the worker
}

// StartHost creates a host and starts it.
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

// NewHost loads the configuration, opens the store and connects to Temporal. It detects all local errors before it connects.
func NewHost(ctx context.Context, opts HostOptions) (*Host, error) {
	h := &Host{opts: opts, hup: make(chan os.Signal, 1), unwatch: func() {}}
	live, err := configuration.NewLive(configuration.LiveOptions{Source: opts.source(), Reload: h.hup, Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	for _, finding := range live.Current().Warnings() {
		level := slog.LevelDebug
		if finding.Severity == config.SeverityDanger {
			level = slog.LevelWarn
		}
		opts.Logger.Log(ctx, level, "configuration", "finding", finding.String())
	}
	for _, lacking := range live.Current().Unkept() {
		opts.Logger.Warn("the agents' shell cannot be set up as configured", "reason", lacking)
	}
	if opts.standalone() {
		if err := PrepareSample(opts.Data); err != nil {
			return nil, err
		}
		signal.Notify(h.hup, syscall.SIGHUP) // an embedding program handles its own signals
	}
	h.Config = live
	if opts.Evaluation == nil {
		if h.notifications, err = live.Current().Notifications(); err != nil && len(h.ServersAlone()) == 0 {
			return nil, errors.Join(&command.UsageError{Err: err}, h.Stop())
		}
	}
	if err := h.connect(ctx); err != nil {
		return nil, errors.Join(err, h.Stop())
	}
	return h, nil
}

// Start begins to work, and to watch the configuration's files.
func (h *Host) Start(ctx context.Context) error { return h.StartIn(ctx, nil) }

// StartIn registers the work with the worker of another program; nil means a worker of the host's own.
func (h *Host) StartIn(ctx context.Context, registry worker.Registry) (err error) {
	watch, cancel := context.WithCancel(ctx)
	h.unwatch = cancel
	go h.Config.Watch(watch)
	settings := h.opts.Settings
	settings.MaxCalls, settings.Drain = cmp.Or(settings.MaxCalls, h.Config.Current().Queue.Calls()), h.Drain()
	if h.opts.standalone() { // the cache is shared by the whole process
		worker.SetStickyWorkflowCacheSize(cmp.Or(h.opts.CachedWorkflows, CachedWorkflows(settings.MaxCalls)))
	}
	joined, err := h.joinFleet(ctx)
	if err != nil {
		return err
	}
	if err := h.publishTools(ctx); err != nil {
		return err
	}
	if h.notifies() { // from now on, the store writes what notifications are about
		if _, err := h.Store.Lease(ctx, record.NotificationsLease, "a worker that starts", 0); err != nil {
			return err
		}
	}
	h.worker, err = StartWorker(ctx, WorkerOptions{
		Settings: settings, Client: h.Client, Namespace: h.opts.Temporal.Namespace,
		ToolsOnly: len(h.ServersAlone()) > 0, Registry: registry, Config: h.Config, Store: h.Store, Keys: h.keys,
	})
	if err == nil {
		h.announce(ctx)
		h.startNotifying(watch)
		go func() {
			if err := h.watchFleet(watch, joined, fleetWatch); err != nil {
				h.worker.fail(err)
			}
		}()
	}
	return err
}

// notifies reports whether the host sends notifications.
func (h *Host) notifies() bool { return len(h.notifications.Routes) > 0 && len(h.ServersAlone()) == 0 }

// startNotifying sends notifications until ctx ends, if the configuration has any.
func (h *Host) startNotifying(ctx context.Context) {
	if !h.notifies() {
		return
	}
	page := h.Config.Current().System.DashboardURL
	h.background.Go(func() {
		notify.Run(ctx, notify.Options{
			Settings: h.notifications.Notifications, Calendar: h.notifications.Calendar, PageURL: page,
			System: h.System(), Store: h.Store, Logger: h.opts.Logger,
		})
	})
}

// publishTools stores the program's own tools for processes that list tools elsewhere.
func (h *Host) publishTools(ctx context.Context) error {
	var specs []tool.Spec
	for _, t := range h.opts.embedding().Tools {
		specs = append(specs, t.Spec)
	}
	if len(specs) == 0 {
		return nil
	}
	return h.Store.SaveProgramTools(ctx, specs)
}

// ServersAlone returns the MCP servers of a host that runs only their tools; empty means that it runs everything.
func (h *Host) ServersAlone() []string { return h.Config.Current().ServersOf(h.opts.TaskQueue) }

// Drain returns how long running calls may continue after Stop: the requested time, or else the configuration's, or else the
// default.
func (h *Host) Drain() time.Duration {
	return cmp.Or(h.opts.Drain, h.Config.Current().Queue.GracefulShutdownTimeout.D(), h.opts.DefaultDrain, DefaultDrain)
}

// StoreOptions returns the store to use: the requested one, or else the configuration's, or else the default. It does not read
// unused settings, so their variables need not be set.
func (o HostOptions) StoreOptions(cfg *configuration.Config) (store.Options, error) {
	out := store.At(o.Store)
	if o.Store == "" {
		target, err := cfg.Store()
		if err != nil {
			return store.Options{}, err
		}
		out = store.Options{DSN: target.Postgres}
		if target.Postgres == "" {
			out.Path = cmp.Or(target.SQLite, o.DefaultStore)
		}
		if out.Path == "" && out.DSN == "" {
			return out, ErrNoStore
		}
	}
	out.Logger, out.Adopt = o.Logger, o.AdoptStore
	return out, nil
}

func (h *Host) connect(ctx context.Context) (err error) {
	getenv := h.opts.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	if h.keys, err = payload.LoadKeys(getenv); err != nil {
		return &command.UsageError{Err: err}
	}
	h.keys.Protect(&h.opts.Temporal)
	opts := h.opts
	if h.where, err = opts.StoreOptions(h.Config.Current()); err != nil {
		return err
	}
	if h.Store, err = store.Open(ctx, h.where); err != nil {
		return err
	}
	h.opts.Temporal.Identity = cmp.Or(opts.Temporal.Identity, identity())
	opts.Temporal.Identity = h.opts.Temporal.Identity
	opts.Temporal.ExternalStorage = payload.Storage(h.Store)
	opts.Temporal.Logger = sdkLogger(opts.Logger)
	dialing, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	if h.Client, err = dial.Temporal(dialing, opts.Temporal); err != nil {
		return fmt.Errorf("connect to Temporal at %s: %w", opts.Temporal.HostPort, err)
	}
	return nil
}

// System returns a client of the host's system.
func (h *Host) System() *inquest.Client {
	return inquest.Over(h.Client, h.keys, h.Store, cmp.Or(h.opts.TaskQueue, workflows.TaskQueue), h.Namespace())
}

// Namespace returns the host's Temporal namespace.
func (h *Host) Namespace() string { return cmp.Or(h.opts.Temporal.Namespace, client.DefaultNamespace) }

// Wait returns nil when ctx ends, or the error that stopped the worker.
func (h *Host) Wait(ctx context.Context) error { return h.worker.Wait(ctx) }

// Stop drains the worker and closes everything that was opened, in reverse order.
func (h *Host) Stop() error {
	signal.Stop(h.hup)
	h.unwatch()
	if h.worker != nil {
		h.worker.Stop()
	}
	h.background.Wait()
	if h.Client != nil {
		h.Client.Close()
	}
	if h.Store != nil {
		return h.Store.Close()
	}
	return nil
}

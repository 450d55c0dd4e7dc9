package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/inquest-dev/inquest/activities"
	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/webhook"
	"github.com/inquest-dev/inquest/workflows"
)

// WorkerOptions is what a worker is made of.
type WorkerOptions struct {
	Settings
	Client    client.Client
	Namespace string // "" = default
	// ToolsOnly: nothing but the tools of the servers that name TaskQueue is run.
	ToolsOnly bool
	// Registry is the worker of another program, which begins and ends without us; nil = it is one of ours.
	Registry worker.Registry
	Config   Configuration
	Store    *store.Store
	// Keys read what the client has encrypted; the client has them, too.
	Keys payload.Keys
	// Servers reaches the MCP servers; nil = as the configuration says.
	Servers tool.Caller
}

// Settings are what a worker is told, whoever connects it.
type Settings struct {
	// TaskQueue is the queue to serve, a server's own one for its tools alone; "" = workflows.TaskQueue.
	TaskQueue string
	// MaxCalls is how many model and tool calls run at once, and how many quick ones besides; 0 = DefaultMaxCalls.
	MaxCalls int
	// Drain is how long running calls may go on after Stop; 0 = DefaultDrain.
	Drain time.Duration
	// DeploymentVersion makes the worker a version of the worker deployment
	// "inquest": investigations stay with the version that they started on. "" = off.
	DeploymentVersion string
	// Reconcile is how often records are put right of investigations that somebody
	// terminated; 0 = DefaultReconcile.
	Reconcile time.Duration
	// Keeper starts this program as KeeperCommand; nil = it has no such command.
	Keeper []string
	// Models are clients of the program's own, by the names of providers, by type:model, or
	// by "*", which is all.
	Models map[string]llm.Client
	// Embedding: the worker is a part of another program; nil = it is one of ours.
	Embedding *Embedding
	Logger    *slog.Logger
}

// DefaultReconcile is how often records are put right, see Settings.
const DefaultReconcile = 5 * time.Minute

// DefaultMaxCalls is Settings.MaxCalls that nobody has set.
const DefaultMaxCalls = 1000

// Configuration is what a worker needs of one: a *config.Live, or a *config.Config
// that never changes.
type Configuration interface {
	Current() *config.Config
	Transport(server string) (config.Transport, error)
	Flood(name string) webhook.Limits
	KeepAlerts() time.Duration
	LookupEnv(name string) (string, bool)
}

// DeploymentName is the worker deployment that versioned workers belong to.
const DeploymentName = "inquest"

// DefaultDrain is how long a stopping worker lets its running calls finish.
const DefaultDrain = 30 * time.Second

const setupTimeout = 15 * time.Second

// Worker runs investigations.
type Worker struct {
	worker   worker.Worker // nil = another program's
	act      *activities.Activities
	drain    time.Duration
	pool     *mcp.Pool
	listened *listened // nil = nobody listens
	fatal    chan error
	// endIndexing stops indexing and returns once it has stopped; nil means it never began.
	endIndexing func()
}

// StartWorker connects the pieces and begins to poll.
func StartWorker(ctx context.Context, opts WorkerOptions) (*Worker, error) {
	opts.TaskQueue = cmp.Or(opts.TaskQueue, workflows.TaskQueue)
	opts.Namespace = cmp.Or(opts.Namespace, client.DefaultNamespace)
	opts.MaxCalls = cmp.Or(opts.MaxCalls, DefaultMaxCalls)
	opts.Drain = cmp.Or(opts.Drain, DefaultDrain)
	opts.Reconcile = cmp.Or(opts.Reconcile, DefaultReconcile)
	setup, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	namespace, err := namespaceID(setup, opts.Client, opts.Namespace)
	if err != nil {
		return nil, err
	}
	w := &Worker{drain: opts.Drain, fatal: make(chan error, 1)}
	w.pool = mcp.New(mcp.Options{Transport: transports(opts.Config), Logger: opts.Logger, Elicit: true})
	if opts.Servers == nil {
		opts.Servers = w.pool
	}
	if opts.Registry == nil {
		w.worker = worker.New(opts.Client, opts.TaskQueue, worker.Options{
			WorkerStopTimeout:                       opts.Drain,
			OnFatalError:                            w.fail,
			DeploymentOptions:                       deployment(opts.DeploymentVersion),
			MaxConcurrentActivityExecutionSize:      opts.MaxCalls,
			MaxConcurrentLocalActivityExecutionSize: opts.MaxCalls,
			// A quick call that takes long goes on in this worker, whose regular attempt attends to it.
			MaxEagerActivityReservationsPerWorkflowTask: new(workflows.MaxParallelCalls),
			DisableWorkflowWorker:                       opts.ToolsOnly,
			Interceptors:                                []interceptor.WorkerInterceptor{&workflows.Guard{}},
		})
		opts.Registry = w.worker
	}
	act := newActivities(setup, opts, w.pool)
	act.Belongs = func(ctx context.Context) error { return opts.Store.Belongs(ctx, namespace, opts.Namespace) }
	if listen := opts.embedding().Listener; listen != nil {
		w.listened = newListened(ctx, opts.Store, listen, opts.Logger)
		act.Transcripts, act.Records, act.Memories = w.listened, w.listened, w.listened
	}
	w.act = act
	register(opts.Registry, act, opts.ToolsOnly)
	if w.worker != nil {
		if err := w.worker.Start(); err != nil {
			w.close()
			return nil, fmt.Errorf("start the worker: %w", err)
		}
	}
	if !opts.ToolsOnly {
		scheduleReconcile(setup, opts)
		w.keepIndexed(ctx, opts.Store)
	}
	return w, nil
}

// keepIndexed indexes in the background what older programs have written.
func (w *Worker) keepIndexed(ctx context.Context, st *store.Store) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var indexing sync.WaitGroup
	indexing.Go(func() { st.KeepIndexed(ctx) })
	w.endIndexing = func() {
		cancel()
		indexing.Wait()
	}
}

// register makes a worker run everything, or the tools alone.
func register(w worker.Registry, act *activities.Activities, toolsOnly bool) {
	if !toolsOnly {
		workflows.Register(w)
		w.RegisterActivity(act)
		return
	}
	w.RegisterActivityWithOptions(act.ListTools, activity.RegisterOptions{Name: "ListTools"})
	w.RegisterActivityWithOptions(act.CallTool, activity.RegisterOptions{Name: "CallTool"})
}

func newActivities(ctx context.Context, opts WorkerOptions, sessions activities.Sessions) *activities.Activities {
	runs, code := runs{opts.Client, opts.Keys.Converter(nil)}, opts.embedding()
	return &activities.Activities{
		Sessions: sessions, Heartbeats: runs, People: runs, Requests: runs, Runs: runs,
		Planner:     planner{opts.Config, opts.Store, code.Selectors, opts.Logger},
		Transcripts: opts.Store, Mail: opts.Store, Records: opts.Store, Blobs: opts.Store,
		Store: opts.Store.ID(), Memories: opts.Store, Limits: opts.Store, Ledger: opts.Store,
		Rules: opts.Store, Circuits: opts.Store, Clock: opts.Store, Times: opts.Store, Alerts: opts.Store, Intake: newIntake(opts),
		Models: newModels(opts), Servers: opts.Servers,
		Builtins: builtins{results: opts.Store, code: code.Tools, keeper: opts.Keeper},
		Hooks:    code.Hooks, Mocks: code.Mocks, Prompts: code.Prompts,
		Validator: tool.NewValidator(), Policy: tool.NewPolicy(opts.Logger),
		SearchAttributes: !opts.ToolsOnly && registerSearchAttributes(ctx, opts.Client, opts.Namespace, opts.Logger),
		Logger:           opts.Logger,
	}
}

// deployment pins investigations to the version that they started on; an old
// version's workers stay until its investigations have ended.
func deployment(version string) worker.DeploymentOptions {
	if version == "" {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   worker.WorkerDeploymentVersion{DeploymentName: DeploymentName, BuildID: version},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}
}

// transports tells the pool how the configuration reaches a server.
func transports(c Configuration) func(server string) (mcp.Transport, error) {
	return func(server string) (mcp.Transport, error) {
		t, err := c.Transport(server)
		return mcp.Transport(t), err
	}
}

// fail makes Wait return an error, if it is the first.
func (w *Worker) fail(err error) {
	select {
	case w.fatal <- err:
	default:
	}
}

// Wait returns when ctx ends, or with the error that the worker cannot go on after.
func (w *Worker) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-w.fatal:
		return fmt.Errorf("the worker cannot go on: %w", err)
	}
}

// Stop takes no more work, lets running calls finish within the drain time, and
// ends the sessions of the tool servers.
func (w *Worker) Stop() {
	if w.worker != nil {
		until := time.Now().Add(w.drain)
		w.worker.Stop()
		activities.Drain(w.act, time.Until(until)) // Temporal does not know of these
	}
	w.close()
}

func (w *Worker) close() {
	if w.listened != nil {
		w.listened.close()
	}
	if w.endIndexing != nil {
		w.endIndexing()
	}
	w.pool.Close()
}

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
	"github.com/inquest-dev/inquest/internal/app/tracing"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/embed"
	"github.com/inquest-dev/inquest/internal/payload"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/tool/mcp"
	"github.com/inquest-dev/inquest/internal/webhook"
	"github.com/inquest-dev/inquest/workflows"
)

// WorkerOptions configures a worker.
type WorkerOptions struct {
	Settings
	Client    client.Client
	Namespace string // empty means the default
	// ToolsOnly runs only the tools of the servers that name TaskQueue.
	ToolsOnly bool
	// Registry is the worker of another program, which starts and stops it; nil means that Inquest creates the worker.
	Registry worker.Registry
	Config   Configuration
	Store    *store.Store
	// Keys decrypt the client's payloads. The client also has them.
	Keys payload.Keys
	// Servers calls the MCP servers; nil means those of the configuration.
	Servers tool.Caller
}

// Settings are the settings of a worker that do not depend on its connection.
type Settings struct {
	// TaskQueue is the queue to serve; a server's own queue serves only its tools. Empty means workflows.TaskQueue.
	TaskQueue string
	// MaxCalls is how many model and tool calls run concurrently, and how many quick ones in addition; 0 means DefaultMaxCalls.
	MaxCalls int
	// Drain is how long running calls may continue after Stop; 0 means DefaultDrain.
	Drain time.Duration
	// DeploymentVersion makes the worker a version of the worker deployment "inquest": investigations stay on the version that they
	// started on. Empty turns versioning off.
	DeploymentVersion string
	// Reconcile is how often the records of terminated investigations are reconciled; 0 means DefaultReconcile.
	Reconcile time.Duration
	// Hold pauses everything that runs before the worker takes work. Calls that were requested before, and must not run twice, are
	// then not made: their outcome is unknown. It is for the first worker after both databases were restored.
	Hold bool
	// Keeper is the command line that starts this program as KeeperCommand; nil means that it has no such command.
	Keeper []string
	// Models are clients that the program provides, by provider name, by type:model, or by "*" for all.
	Models map[string]llm.Client
	// Evaluation is set if the worker only tries an investigation again.
	Evaluation *Evaluation
	// Embedding is set if the worker is part of another program; nil means one of Inquest's programs.
	Embedding *Embedding
	Logger    *slog.Logger
}

// DefaultReconcile is the default of Settings.Reconcile.
const DefaultReconcile = 5 * time.Minute

// DefaultMaxCalls is the default of Settings.MaxCalls.
const DefaultMaxCalls = 1000

// Configuration is the part of a configuration that a worker needs. *configuration.Live implements it, and
// *configuration.Config, which never changes.
type Configuration interface {
	Current() *configuration.Config
	Transport(server string) (config.Transport, error)
	Flood(name string) webhook.Limits
	KeepAlerts() time.Duration
	LookupEnv(name string) (string, bool)
}

// DeploymentName is the worker deployment of versioned workers.
const DeploymentName = "inquest"

// DefaultDrain is how long a stopping worker lets its running calls finish.
const DefaultDrain = 30 * time.Second

const setupTimeout = 15 * time.Second

// Worker runs investigations.
type Worker struct {
	worker   worker.Worker // nil means another program's
	act      *activities.Activities
	drain    time.Duration
	pool     *mcp.Pool
	listened *listened // nil means no listener
	fatal    chan error
	// endTracing exports the last spans.
	endTracing func()
	// endIndexing stops indexing and returns once it has stopped; nil means it never began.
	endIndexing func()
}

// StartWorker connects the parts and starts polling.
func StartWorker(ctx context.Context, opts WorkerOptions) (*Worker, error) {
	opts.TaskQueue = cmp.Or(opts.TaskQueue, workflows.TaskQueue)
	opts.Namespace = cmp.Or(opts.Namespace, client.DefaultNamespace)
	opts.MaxCalls = cmp.Or(opts.MaxCalls, DefaultMaxCalls)
	opts.Drain = cmp.Or(opts.Drain, DefaultDrain)
	opts.Reconcile = cmp.Or(opts.Reconcile, DefaultReconcile)
	setup, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	namespace, err := NamespaceID(setup, opts.Client, opts.Namespace)
	if err != nil {
		return nil, err
	}
	var tracer *tracing.Tracer
	if opts.Evaluation == nil {
		if tracer, err = tracing.FromEnv(ctx, identity(), opts.Logger); err != nil {
			return nil, err
		}
	}
	w := &Worker{drain: opts.Drain, fatal: make(chan error, 1), endTracing: func() { tracer.Close(ctx) }}
	w.pool = mcp.New(mcp.Options{Transport: Transports(opts.Config), Logger: opts.Logger, Elicit: true})
	if opts.Servers == nil {
		opts.Servers = w.pool
	}
	if e := opts.Evaluation; e != nil {
		opts.Servers = e.Tools(opts.Servers)
	}
	if opts.Registry == nil {
		w.worker = worker.New(opts.Client, opts.TaskQueue, worker.Options{
			WorkerStopTimeout:                       opts.Drain,
			OnFatalError:                            w.fail,
			DeploymentOptions:                       deployment(opts.DeploymentVersion),
			MaxConcurrentActivityExecutionSize:      opts.MaxCalls,
			MaxConcurrentLocalActivityExecutionSize: opts.MaxCalls,
			// A quick call that takes long continues in this worker. Its regular attempt, started eagerly here, attends to it.
			MaxEagerActivityReservationsPerWorkflowTask: new(workflows.MaxParallelCalls),
			DisableWorkflowWorker:                       opts.ToolsOnly,
			Interceptors:                                []interceptor.WorkerInterceptor{&workflows.Guard{}},
		})
		opts.Registry = w.worker
	}
	act := newActivities(setup, opts, w.pool)
	act.Belongs = func(ctx context.Context) error { return opts.Store.Belongs(ctx, namespace, opts.Namespace) }
	var kept tracing.Store = opts.Store
	if listen := opts.embedding().Listener; listen != nil {
		w.listened = newListened(ctx, opts.Store, listen, opts.Logger)
		kept = w.listened
	}
	kept = tracer.Store(kept)
	act.Transcripts, act.Records, act.Memories, act.Servers = kept, kept, kept, tracer.Caller(act.Servers, kept)
	w.act = act
	if act.Held, err = held(ctx, opts); err != nil {
		w.close()
		return nil, err
	}
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

// register makes a worker run everything, or only the tools.
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
	models := NewModels(opts.Config.LookupEnv, opts.Models, opts.Logger)
	plans := planner{opts.Config, opts.Store, code.Selectors, opts.Logger}
	builtins := Builtins{Results: opts.Store, Code: code.Tools, Keeper: opts.Keeper}
	if opts.Evaluation != nil {
		builtins.Recorded = opts.Servers
	}
	act := &activities.Activities{
		Sessions: sessions, Heartbeats: runs, People: runs, Requests: runs, Runs: runs,
		Planner:     plans,
		Transcripts: opts.Store, Mail: opts.Store, Records: opts.Store, Blobs: opts.Store,
		Store: opts.Store.ID(), Memories: opts.Store, Limits: opts.Store, Ledger: opts.Store,
		Rules: opts.Store, Circuits: opts.Store, Clock: opts.Store, Times: opts.Store, Alerts: opts.Store, Intake: newIntake(opts),
		Models: models, Servers: opts.Servers,
		Learnings: opts.Store, Threads: opts.Store, Embeddings: embed.New(opts.Config.LookupEnv),
		Runbooks: runbook.New(func() runbook.Settings { return opts.Config.Current().Runbooks() }),
		Builtins: builtins,
		Hooks:    code.Hooks, Mocks: code.Mocks, Prompts: code.Prompts,
		Validator: tool.NewValidator(), Policy: tool.NewPolicy(opts.Logger),
		SearchAttributes: !opts.ToolsOnly && registerSearchAttributes(ctx, opts.Client, opts.Namespace, opts.Logger),
		Logger:           opts.Logger,
	}
	if opts.Evaluation != nil {
		opts.Evaluation.confine(act, plans, models)
	}
	return act
}

// deployment pins investigations to the version that they started on. The workers of an old version stay until its investigations
// have ended.
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

// Transports tells the pool how to connect to a server, according to the configuration.
func Transports(c Configuration) func(server string) (mcp.Transport, error) {
	return func(server string) (mcp.Transport, error) {
		t, err := c.Transport(server)
		return mcp.Transport(t), err
	}
}

// fail makes Wait return err, unless it already has an error.
func (w *Worker) fail(err error) {
	select {
	case w.fatal <- err:
	default:
	}
}

// Wait returns nil when ctx ends, or the error after which the worker cannot continue.
func (w *Worker) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-w.fatal:
		return fmt.Errorf("the worker cannot continue: %w", err)
	}
}

// Stop accepts no more work, lets running calls finish within the drain time, and ends the sessions of the tool servers.
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
	w.endTracing()
}

// Package inquest lets other Go programs run Inquest's agents. Such a program writes tools as Go functions, defines
// agents and chains, and runs as a worker of a Temporal service.
//
//	search := inquest.NewTool("search_orders", "Finds orders by customer", searchOrders)
//	w, err := inquest.NewWorker(ctx, inquest.Options{
//		Tools:  []inquest.Tool{search},
//		Agents: map[string]*inquest.Agent{"Clerk": {ToolIDs: []string{"search_orders"}, DefaultModel: "openai:gpt-4o"}},
//		Chains: map[string]*inquest.Chain{"orders": {
//			AlertTypes: []string{"order-late"},
//			Stages:     []*inquest.Stage{{Name: "look", Agents: []*inquest.StageAgent{{Name: "Clerk"}}}},
//		}},
//	})
//	if err != nil {
//		return err
//	}
//	return w.Run(ctx)
//
// Definitions in Go and in YAML form one configuration: each can refer to the other's entries, and the same rules apply
// to both (docs/reference/config.md). A worker of this package is like any other: it may be killed at any time, and another
// worker continues its work. All workers of a task queue should have the same tools.
package inquest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/workflows"
)

// Worker runs investigations in this process.
type Worker struct {
	host   *app.Host
	opts   app.HostOptions
	remove string // folder of a temporary store, removed with the worker
	begin  sync.Once
	close  sync.Once
	closed error
}

// NewWorker checks the options, opens the store and connects to Temporal. The error lists everything that is wrong with
// the options. The worker does nothing until you call Run; call Close if you do not.
func NewWorker(ctx context.Context, opts Options) (*Worker, error) {
	w := &Worker{}
	if err := w.prepare(opts); err != nil {
		return nil, err
	}
	var err error
	if w.host, err = app.NewHost(ctx, w.opts); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Worker) prepare(opts Options) (err error) {
	tools, wrong := opts.tools()
	wrong = errors.Join(wrong,
		checkCode("hook", opts.Hooks), checkCode("mock", opts.Mocks), checkModels(opts.Models), checkCode("prompt", opts.PromptFuncs),
		checkCode("selector", opts.Selectors))
	if w.opts, err = opts.host(tools); err != nil {
		return errors.Join(wrong, err)
	}
	if err := errors.Join(wrong, w.opts.Check()); err != nil {
		return err
	}
	if opts.Store != MemoryStore {
		return nil
	}
	w.opts.TemporaryStore = true
	if w.remove, err = os.MkdirTemp("", "inquest"); err != nil {
		return fmt.Errorf("create a directory for the store: %w", err)
	}
	return place(&w.opts, filepath.Join(w.remove, "inquest.db"))
}

// Run works until ctx ends, lets calls in progress finish within Options.Drain, and closes the worker. It returns nil
// if ctx ended, and otherwise the reason why the worker cannot continue. A worker runs only once.
func (w *Worker) Run(ctx context.Context) error {
	err := errors.New("the worker has already been run or registered")
	w.begin.Do(func() { err = w.run(ctx) })
	return err
}

func (w *Worker) run(ctx context.Context) error {
	err := w.host.Start(ctx)
	if err == nil {
		log := w.opts.Logger
		log.Info("worker started", "temporal", w.opts.Temporal.HostPort, "task_queue", w.opts.TaskQueue,
			"store", w.host.Address(), "store_id", w.host.Store.ID())
		err = w.host.Wait(ctx)
		log.Info("worker draining", "for_at_most", w.host.Drain())
	}
	return errors.Join(err, w.Close())
}

// Register replaces Run for a program that already runs a Temporal worker: it registers Inquest's workflows and
// activities there. That worker must poll Options.TaskQueue and have Guard among its interceptors, and its client must
// be able to read what the client of Options.Temporal writes. Start it after Register, and stop it before Close.
// Options.Drain and Options.DeploymentVersion have no effect; that worker's own settings apply.
func (w *Worker) Register(ctx context.Context, registry worker.Registry) error {
	err := errors.New("the worker has already been run or registered")
	w.begin.Do(func() {
		if err = w.host.StartIn(ctx, registry); err == nil {
			go func() {
				if failed := w.host.Wait(ctx); failed != nil {
					w.opts.Logger.Error("Inquest cannot continue in this worker", "error", failed)
				}
			}()
		}
	})
	return err
}

// Guard is an interceptor for the worker passed to Register. If a step is too large for Temporal, Guard makes it fail
// with an explanation.
func Guard() interceptor.WorkerInterceptor { return &workflows.Guard{} }

// Close releases the worker's resources. Run calls it as well; a second call does nothing.
func (w *Worker) Close() error {
	w.close.Do(func() {
		if w.host != nil {
			w.closed = w.host.Stop()
		}
		if w.remove != "" {
			w.closed = errors.Join(w.closed, os.RemoveAll(w.remove))
		}
	})
	return w.closed
}

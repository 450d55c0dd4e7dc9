// Package inquest is how other Go programs run Inquest's agents: they write tools
// as functions, define agents and chains, and are workers of a Temporal service.
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
// What is defined in Go and what stands in YAML is one configuration: both name
// each other's entries, and both are checked by the same rules (docs/config.md).
// A worker of this package is like any other: it may be killed at any time, and
// another one goes on. All workers of a task queue should have the same tools.
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
	remove string // folder of a store that ends with the worker
	begin  sync.Once
	close  sync.Once
	closed error
}

// NewWorker makes a worker: it checks the options, opens the store and connects to
// Temporal. Everything that is wrong with the options is in one error. The worker
// does nothing yet; Run it, or Close it.
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
		return fmt.Errorf("make a folder for the store: %w", err)
	}
	return place(&w.opts, filepath.Join(w.remove, "inquest.db"))
}

// Run works until ctx ends, lets running calls finish within Options.Drain, and
// closes the worker. It returns nil if ctx ended, and otherwise why the worker
// cannot go on. A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	err := errors.New("the worker was run before")
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

// Register lets a worker that the program runs already do the work in place of Run. That worker polls
// Options.TaskQueue and has Guard among its interceptors, and its client can read what that of Options.Temporal
// writes. Start it after Register, and stop it before Close. Options.Drain and Options.DeploymentVersion are that
// worker's own settings.
func (w *Worker) Register(ctx context.Context, registry worker.Registry) error {
	err := errors.New("the worker was run before")
	w.begin.Do(func() {
		if err = w.host.StartIn(ctx, registry); err == nil {
			go func() {
				if failed := w.host.Wait(ctx); failed != nil {
					w.opts.Logger.Error("Inquest cannot go on in this worker", "error", failed)
				}
			}()
		}
	})
	return err
}

// Guard is an interceptor for the worker of Register. It makes a step that Temporal would refuse for its size fail
// with an explanation.
func Guard() interceptor.WorkerInterceptor { return &workflows.Guard{} }

// Close frees what the worker holds. Run does it, too; the second call does nothing.
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

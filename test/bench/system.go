package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/app"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
	"github.com/inquest-dev/inquest/internal/store"
)

// system is all that the workloads run on.
type system struct {
	server    *server
	model     *llmtest.Handler
	tools     *toolServer
	store     *store.Store
	client    client.Client
	processes processes
	workloads []workload

	cleanup []func() error // undone in the opposite order
}

func start(ctx context.Context, dir string, o options) (*system, error) {
	s := &system{}
	if err := s.start(ctx, dir, o); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *system) start(ctx context.Context, dir string, o options) (err error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if s.server, err = startServer(ctx, dir); err != nil {
		return err
	}
	s.later(s.server.stop)
	s.processes = processes{worker: os.Getpid(), server: s.server.cmd.Process.Pid}
	url, err := s.startModel()
	if err != nil {
		return err
	}
	if s.tools, err = startToolServer(ctx); err != nil {
		return err
	}
	s.later(s.tools.close)
	if s.store, err = store.Open(ctx, store.At(o.store)); err != nil {
		return err
	}
	s.later(s.store.Close)
	s.client, err = app.Dial(ctx, client.Options{HostPort: s.server.address, Logger: sdklog.NewStructuredLogger(logger)})
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	s.later(func() error { s.client.Close(); return nil })
	s.choose(o.workloads)
	return s.startWorkers(ctx, dir, url, logger)
}

func (s *system) choose(names []string) {
	for _, w := range []workload{
		newInvestigation(s.client),
		bare{s.client, nameShape, shapeInvestigation, []string{"/" + stageName, "/" + stageName + "/" + agentName}},
		bare{s.client, nameLoop, loop, nil},
	} {
		if slices.Contains(names, w.name()) {
			s.workloads = append(s.workloads, w)
		}
	}
}

// startModel serves the model on a loopback address, over HTTP.
func (s *system) startModel() (url string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s.model = llmtest.New(speak)
	server := &http.Server{Handler: s.model}
	go func() { _ = server.Serve(listener) }() // until it is closed
	s.later(func() error { s.model.Close(); return server.Close() })
	return "http://" + listener.Addr().String() + "/v1", nil
}

// startWorkers starts Inquest's worker and the baselines'.
func (s *system) startWorkers(ctx context.Context, dir, url string, logger *slog.Logger) error {
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte(configuration), 0o600); err != nil {
		return err
	}
	cfg, err := config.Load(config.Source{Dir: path, Env: func(name string) (string, bool) { return url, name == "BENCH_MODEL" }})
	if err != nil {
		return err
	}
	w, err := app.StartWorker(ctx, app.WorkerOptions{
		Settings: app.Settings{Logger: logger}, Client: s.client, Config: cfg, Store: s.store, Servers: s.tools,
	})
	if err != nil {
		return err
	}
	s.later(func() error { w.Stop(); return nil })
	baseline := worker.New(s.client, bareQueue, worker.Options{})
	registerBare(baseline)
	if err := baseline.Start(); err != nil {
		return fmt.Errorf("start the baselines' worker: %w", err)
	}
	s.later(func() error { baseline.Stop(); return nil })
	return nil
}

// forget drops what the batch before left in memory, so that peaks are of one batch.
func (s *system) forget() {
	s.model.Forget()
	s.processes.reset()
}

func (s *system) later(undo func() error) { s.cleanup = append(s.cleanup, undo) }

func (s *system) stop() error {
	var errs []error
	for _, undo := range slices.Backward(s.cleanup) {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

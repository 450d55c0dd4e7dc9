package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/dial"
	"github.com/inquest-dev/inquest/internal/store"
)

// system is everything that the workloads run on.
type system struct {
	server    *server
	worker    *workerProcess
	services  *services
	store     *store.Store
	config    *configuration.Config
	client    client.Client
	processes processes
	workloads []workload

	cleanup []func() error // run in reverse order
}

func start(ctx context.Context, dir string, o options) (*system, error) {
	s := &system{}
	if err := s.start(ctx, dir, o); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *system) start(ctx context.Context, dir string, o options) (err error) {
	if s.server, err = startServer(ctx, dir); err != nil {
		return err
	}
	s.later(s.server.stop)
	if s.services, err = startServices(); err != nil {
		return err
	}
	s.later(s.services.close)
	if s.store, err = store.Open(ctx, store.At(o.store)); err != nil {
		return err
	}
	s.later(s.store.Close)
	logger := sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	s.client, err = dial.Temporal(ctx, client.Options{HostPort: s.server.address, Logger: logger})
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	s.later(func() error { s.client.Close(); return nil })
	if err := s.startWorker(dir, o); err != nil {
		return err
	}
	s.processes = processes{worker: s.worker.cmd.Process.Pid, server: s.server.cmd.Process.Pid}
	if s.processes.database, err = openDatabase(ctx, o.store); err != nil {
		return err
	}
	s.later(s.processes.database.close)
	s.choose(o.workloads)
	return nil
}

func (s *system) startWorker(dir string, o options) (err error) {
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte(chainsOfScales), 0o600); err != nil {
		return err
	}
	if s.config, err = configuration.Load(configuration.Source{Dir: path, Env: lookup(s.services.model, s.services.tools)}); err != nil {
		return err
	}
	s.worker, err = startWorker(workerSettings{
		Temporal: s.server.address, Store: o.store, Config: path, Model: s.services.model, Tools: s.services.tools, Profile: o.profile,
		Calls: max(o.residents, 200),
	})
	if err != nil {
		return err
	}
	s.later(s.worker.stop)
	return nil
}

var shapeChildren = []string{"/" + stageName, "/" + stageName + "/" + agentName}

// choose selects the workloads of 20 steps by name.
func (s *system) choose(names []string) {
	for _, w := range []workload{
		newInvestigation(s.client, short),
		bare{s.client, nameShape, shapeInvestigation, shapeChildren, false},
		bare{s.client, nameOwn, shapeInvestigation, shapeChildren, true},
		bare{s.client, nameLoop, loop, nil, false},
		handmade{s.client, short},
	} {
		if slices.Contains(names, w.name()) {
			s.workloads = append(s.workloads, w)
		}
	}
}

// forget releases the memory of earlier batches, so that only one batch is weighed.
func (s *system) forget() error {
	s.services.handler.Forget()
	s.processes.resetPeaks()
	return s.worker.forget()
}

func (s *system) later(undo func() error) { s.cleanup = append(s.cleanup, undo) }

func (s *system) stop() error {
	var errs []error
	for _, undo := range slices.Backward(s.cleanup) {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

package main

import (
	"context"
	"fmt"
	"time"
)

// runResident measures the worker memory that a running investigation uses: the memory after a garbage
// collection, with all investigations in a model call, minus the memory before.
func runResident(ctx context.Context, sys *system, o options, result *report) error {
	one := newInvestigation(sys.client, single)
	if _, _, err := runAll(ctx, one, "resident-before", setting{concurrency: 20}, o.residents); err != nil { // one-time allocations
		return err
	}
	before, err := sys.memory()
	if err != nil {
		return err
	}
	sys.services.takes.Store(int64(time.Hour))
	ended := make(chan error, 1)
	go func() {
		_, _, err := runAll(ctx, one, "resident", setting{concurrency: o.residents}, o.residents)
		ended <- err
	}()
	if err := sys.services.busy(ctx, int64(o.residents)); err != nil {
		return err
	}
	result.ResidentAtOnce = resident(sys.processes.worker)
	after, err := sys.memory()
	if err != nil {
		return err
	}
	sys.services.release()
	result.Residents = o.residents
	result.ResidentAtOnce = (result.ResidentAtOnce - before) / int64(o.residents)
	result.Resident = (after - before) / int64(o.residents)
	o.progressf("%d at once: %s for each", o.residents, sizeText(result.Resident))
	return <-ended
}

func (s *system) memory() (int64, error) {
	err := s.forget()
	return resident(s.processes.worker), err
}

// busy waits until the model has the given number of requests in progress.
func (s *services) busy(ctx context.Context, n int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*patience, fmt.Errorf("the model was never asked by %d at once", n))
	defer cancel()
	for s.thinking.Load() < n {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

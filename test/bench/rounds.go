package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// workload is one of the things that are compared.
type workload interface {
	name() string
	// run starts one, waits for its end, and checks that it did what it is there
	// for. It returns the ids of the workflows that it was.
	run(ctx context.Context, id string) (workflowIDs []string, err error)
}

// batch is what one workload did in one round.
type batch struct {
	workload    string
	concurrency int
	n           int
	elapsed     time.Duration
	latencies   []time.Duration // sorted
	history     size            // of the last one's workflows, together
	stored      int64           // bytes that the store has grown by, for each
	worker      weight          // its peak of memory, and the CPU time of this batch
	server      weight
}

func (b batch) throughput() float64 { return float64(b.n) / b.elapsed.Seconds() }

func (b batch) median() float64 { return seconds(b.latencies, 0.5) }

// cpu is the CPU time of one run, in seconds.
func (b batch) cpu() (worker, server float64) {
	return b.worker.cpu.Seconds() / float64(b.n), b.server.cpu.Seconds() / float64(b.n)
}

func (b batch) work() float64 {
	worker, server := b.cpu()
	return worker + server
}

func seconds(sorted []time.Duration, quantile float64) float64 {
	return sorted[int(quantile*float64(len(sorted)-1)+0.5)].Seconds()
}

// runRounds runs every workload in every round, in turns: A B C, C B A, A B C, …
// so that what disturbs the machine, and a database that grows, hits all alike.
func runRounds(ctx context.Context, sys *system, o options, progress io.Writer) (report, error) {
	result := newReport(o)
	begun := time.Now()
	if _, err := runRound(ctx, sys, 0, 1, 2); err != nil { // warms up
		return result, err
	}
	for round := 1; round <= o.rounds; round++ {
		before := time.Now()
		for _, concurrency := range o.concurrency {
			batches, err := runRound(ctx, sys, round, concurrency, max(o.atLeast, o.perRound*concurrency))
			if err != nil {
				return result, err
			}
			result.add(batches)
		}
		took := time.Since(before)
		fmt.Fprintf(progress, "round %d of %d: %s\n", round, o.rounds, took.Round(time.Second))
		if time.Since(begun)+took > o.limit {
			break
		}
	}
	return result, nil
}

func runRound(ctx context.Context, sys *system, round, concurrency, n int) ([]batch, error) {
	var batches []batch
	workloads := slices.Clone(sys.workloads)
	if round%2 == 0 {
		slices.Reverse(workloads)
	}
	for _, w := range workloads {
		b, err := runBatch(ctx, sys, w, fmt.Sprintf("%s-%d-%d", w.name(), round, concurrency), concurrency, n)
		if err != nil {
			return nil, fmt.Errorf("%s, %d at a time: %w", w.name(), concurrency, err)
		}
		batches = append(batches, b)
	}
	return batches, nil
}

// runBatch runs a workload n times and weighs what that left behind.
func runBatch(ctx context.Context, sys *system, w workload, name string, concurrency, n int) (batch, error) {
	b := batch{workload: w.name(), concurrency: concurrency, n: n}
	before, err := sys.store.Size(ctx)
	if err != nil {
		return b, err
	}
	sys.forget()
	workerBefore, serverBefore := sys.processes.weigh()
	var last []string
	begun := time.Now()
	if b.latencies, last, err = runAll(ctx, w, name, concurrency, n); err != nil {
		return b, err
	}
	b.elapsed = time.Since(begun)
	b.worker, b.server = sys.processes.weigh()
	b.worker.cpu -= workerBefore.cpu
	b.server.cpu -= serverBefore.cpu
	if b.history, err = historySize(ctx, sys.client, last); err != nil {
		return b, err
	}
	after, err := sys.store.Size(ctx)
	b.stored = (after - before) / int64(n)
	return b, err
}

// runAll keeps concurrency of them running until n are done.
func runAll(ctx context.Context, w workload, name string, concurrency, n int) (latencies []time.Duration, last []string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	latencies = make([]time.Duration, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(concurrency, n) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				begun := time.Now()
				ids, err := w.run(ctx, fmt.Sprintf("%s-%d", name, i))
				if err != nil {
					cancel(err)
					return
				}
				latencies[i] = time.Since(begun)
				if i == int64(n)-1 {
					last = ids
				}
			}
		})
	}
	group.Wait()
	slices.Sort(latencies)
	return latencies, last, context.Cause(ctx)
}

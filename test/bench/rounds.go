package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// workload is one of the things that are compared.
type workload interface {
	name() string
	// run runs one instance to its end and checks the result. It returns the IDs of its workflows. A workload
	// without a model simulates one that takes this long.
	run(ctx context.Context, id string, takes time.Duration) (workflowIDs []string, err error)
}

// setting holds the conditions of a comparison.
type setting struct {
	concurrency int
	takes       time.Duration // duration of a model call
}

// batch is the result of one workload in one round.
type batch struct {
	setting
	workload  string
	n         int
	elapsed   time.Duration
	latencies []time.Duration // sorted
	history   size            // of the last run's workflows, in total
	stored    int64           // growth of the store per run, in bytes
	weights   weights         // memory peaks, and the other usage of this batch
}

func (b batch) throughput() float64 { return float64(b.n) / b.elapsed.Seconds() }

func (b batch) median() float64 { return seconds(b.latencies, 0.5) }

// work returns the CPU time of one run in seconds.
func (b batch) work() float64 {
	return b.each(b.weights.worker.cpu.Seconds() + b.weights.server.cpu.Seconds() + b.weights.database.cpu.Seconds())
}

func (b batch) each(of float64) float64 { return of / float64(b.n) }

func seconds(sorted []time.Duration, quantile float64) float64 {
	return sorted[int(quantile*float64(len(sorted)-1)+0.5)].Seconds()
}

// runRounds runs every workload in every round, in alternating order (A B C, C B A, A B C, …), so that
// disturbances of the machine and the growth of the database affect all of them equally.
func runRounds(ctx context.Context, sys *system, o options, result *report) error {
	begun := time.Now()
	for round := 1; round <= o.rounds; round++ {
		before := time.Now()
		for _, s := range o.settings(round) {
			batches, err := runRound(ctx, sys, round, s, o.runs(s))
			if err != nil {
				return err
			}
			result.add(batches)
		}
		took := time.Since(before)
		o.progressf("round %d of %d: %s", round, o.rounds, took.Round(time.Second))
		if time.Since(begun)+took > o.limit {
			break
		}
	}
	return nil
}

// settings returns the settings of a round. A slow model makes runs long and their times uniform, so it is only
// used in the first round.
func (o options) settings(round int) (all []setting) {
	for _, takes := range o.takes {
		if takes > 0 && round > 1 {
			continue
		}
		for _, concurrency := range o.concurrency {
			all = append(all, setting{concurrency, takes})
		}
	}
	return all
}

// runs returns the number of runs of a workload in a round, which is smaller with a slow model.
func (o options) runs(s setting) int {
	atLeast := o.atLeast
	if s.takes > 0 {
		atLeast = (atLeast + 3) / 4
	}
	return max(atLeast, o.perRound*s.concurrency)
}

func runRound(ctx context.Context, sys *system, round int, s setting, n int) ([]batch, error) {
	var batches []batch
	workloads := slices.Clone(sys.workloads)
	if round%2 == 0 {
		slices.Reverse(workloads)
	}
	for _, w := range workloads {
		b, err := runBatch(ctx, sys, w, fmt.Sprintf("%s-%d-%d-%s", w.name(), round, s.concurrency, s.takes), s, n)
		if err != nil {
			return nil, fmt.Errorf("%s, %d at a time: %w", w.name(), s.concurrency, err)
		}
		batches = append(batches, b)
	}
	return batches, nil
}

// runBatch runs a workload n times and measures its usage.
func runBatch(ctx context.Context, sys *system, w workload, name string, s setting, n int) (batch, error) {
	b := batch{setting: s, workload: w.name(), n: n}
	sys.services.takes.Store(int64(s.takes))
	before, err := sys.store.Size(ctx)
	if err != nil {
		return b, err
	}
	if err := sys.forget(); err != nil {
		return b, err
	}
	weighed, err := sys.processes.weigh(ctx)
	if err != nil {
		return b, err
	}
	var last []string
	begun := time.Now()
	if b.latencies, last, err = runAll(ctx, w, name, s, n); err != nil {
		return b, err
	}
	b.elapsed = time.Since(begun)
	if b.weights, err = sys.processes.weigh(ctx); err != nil {
		return b, err
	}
	b.weights = b.weights.less(weighed)
	if b.history, err = historySize(ctx, sys.client, last); err != nil {
		return b, err
	}
	after, err := sys.store.Size(ctx)
	b.stored = (after - before) / int64(n)
	return b, err
}

// runAll runs n instances, as many in parallel as the setting says.
func runAll(ctx context.Context, w workload, name string, s setting, n int) (latencies []time.Duration, last []string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	latencies = make([]time.Duration, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(s.concurrency, n) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				begun := time.Now()
				ids, err := w.run(ctx, fmt.Sprintf("%s-%d", name, i), s.takes)
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

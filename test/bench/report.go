package main

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/inquest-dev/inquest/internal/store"
)

// The bounds of --check, against the bare shape.
const (
	minThroughput = 0.75
	maxLatency    = 1.4
)

// report is what was measured.
type report struct {
	Machine string `json:"machine"`
	Store   string `json:"store"`
	Rounds  int    `json:"rounds"`
	Rows    []row  `json:"rows"`

	batches []batch
}

// row sums up a workload at one concurrency: medians over the rounds.
type row struct {
	Concurrency int     `json:"concurrency"`
	Workload    string  `json:"workload"`
	Runs        int     `json:"runs"`
	Throughput  float64 `json:"runs_per_second"`
	Latency     float64 `json:"latency_p50_seconds"`
	Slowest     float64 `json:"latency_p95_seconds"`
	// Of the bare shape of the same round; 0 = it was not run.
	ThroughputRatio float64 `json:"throughput_ratio,omitempty"`
	LatencyRatio    float64 `json:"latency_ratio,omitempty"`
	Events          int64   `json:"history_events"`
	HistoryBytes    int64   `json:"history_bytes"`
	StoreBytes      int64   `json:"store_bytes"`
	// CPU time of one run, in seconds; 0 = not known.
	WorkerCPU float64 `json:"worker_cpu_seconds,omitempty"`
	ServerCPU float64 `json:"server_cpu_seconds,omitempty"`
	// CPURatio compares the CPU time of both processes with the bare shape's. It is
	// the steadiest of the ratios: waiting for a busy machine is not in it.
	CPURatio float64 `json:"cpu_ratio,omitempty"`
	// Peaks of resident memory, in bytes; 0 = not known.
	WorkerMemory int64 `json:"worker_memory_bytes,omitempty"`
	ServerMemory int64 `json:"server_memory_bytes,omitempty"`
}

func newReport(o options) report {
	return report{
		Machine: fmt.Sprintf("%d CPUs, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version()),
		Store:   o.storeKind(),
	}
}

func (o options) storeKind() string {
	if store.IsDSN(o.store) {
		return "PostgreSQL"
	}
	return "SQLite"
}

// add takes in a round at one concurrency.
func (r *report) add(batches []batch) {
	r.batches = append(r.batches, batches...)
	r.Rows = nil
	for i, b := range r.batches {
		same := func(other batch) bool { return other.workload == b.workload && other.concurrency == b.concurrency }
		if slices.IndexFunc(r.batches, same) == i {
			r.Rows = append(r.Rows, r.row(b.workload, b.concurrency))
		}
	}
}

func (r *report) row(workload string, concurrency int) row {
	mine, shape := r.of(workload, concurrency), r.of(nameShape, concurrency)
	r.Rounds = len(mine)
	out := row{Concurrency: concurrency, Workload: workload}
	for _, b := range mine {
		out.Runs += b.n
		out.WorkerMemory, out.ServerMemory = max(out.WorkerMemory, b.worker.memory), max(out.ServerMemory, b.server.memory)
	}
	out.Throughput = median(mine, batch.throughput)
	out.Latency = median(mine, batch.median)
	out.Slowest = median(mine, func(b batch) float64 { return seconds(b.latencies, 0.95) })
	out.Events = int64(median(mine, func(b batch) float64 { return float64(b.history.events) }))
	out.HistoryBytes = int64(median(mine, func(b batch) float64 { return float64(b.history.bytes) }))
	out.StoreBytes = int64(median(mine, func(b batch) float64 { return float64(b.stored) }))
	out.WorkerCPU = median(mine, func(b batch) float64 { worker, _ := b.cpu(); return worker })
	out.ServerCPU = median(mine, func(b batch) float64 { _, server := b.cpu(); return server })
	if len(shape) == len(mine) {
		out.ThroughputRatio = medianRatio(mine, shape, batch.throughput)
		out.LatencyRatio = medianRatio(mine, shape, batch.median)
		out.CPURatio = medianRatio(mine, shape, batch.work)
	}
	return out
}

// of returns a workload's batches, by round.
func (r *report) of(workload string, concurrency int) (out []batch) {
	for _, b := range r.batches {
		if b.workload == workload && b.concurrency == concurrency {
			out = append(out, b)
		}
	}
	return out
}

func median(batches []batch, of func(batch) float64) float64 {
	var values []float64
	for _, b := range batches {
		values = append(values, of(b))
	}
	return middle(values)
}

// medianRatio compares batches of the same round: what disturbed both is in neither's favour.
func medianRatio(a, b []batch, of func(batch) float64) float64 {
	var values []float64
	for i := range a {
		values = append(values, of(a[i])/of(b[i]))
	}
	if ratio := middle(values); !math.IsNaN(ratio) { // 0/0: not known
		return ratio
	}
	return 0
}

func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// check compares Inquest with its bounds, and says on which store it is slower.
func (r report) check() error {
	var problems []error
	for _, row := range r.Rows {
		if row.Workload != nameInquest || row.ThroughputRatio == 0 {
			continue
		}
		if row.ThroughputRatio < minThroughput {
			problems = append(problems, fmt.Errorf("%s, %d at a time: throughput is %.2f of the bare shape's, less than %.2f", r.Store, row.Concurrency, row.ThroughputRatio, minThroughput))
		}
		if row.LatencyRatio > maxLatency {
			problems = append(problems, fmt.Errorf("%s, %d at a time: latency is %.2f of the bare shape's, more than %.2f", r.Store, row.Concurrency, row.LatencyRatio, maxLatency))
		}
	}
	return errors.Join(problems...)
}

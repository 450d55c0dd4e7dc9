package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/store"
)

// report holds the measurements. Zero means not measured.
type report struct {
	Machine string    `json:"machine"`
	Store   string    `json:"store"`
	Rounds  int       `json:"rounds"`
	Rows    []row     `json:"rows"`
	Long    []longRun `json:"long"`
	// OwnSteps is the number of memory calls per second by 50 parallel agents.
	OwnSteps float64 `json:"own_steps_per_second"`
	// OwnRatio is OwnSteps divided by the number of rows per second that the same agents write to the transcript.
	OwnRatio float64 `json:"own_ratio"`
	// SickRatio is the median duration of healthy investigations beside one that the model server fails,
	// divided by their median duration without it.
	SickRatio float64 `json:"sick_ratio,omitempty"`
	// Resident is the memory of its worker that a running investigation uses, after a garbage collection.
	// ResidentAtOnce is the same before a collection, which is what a container needs. Zero means unknown.
	Resident       int64   `json:"resident_bytes"`
	ResidentAtOnce int64   `json:"resident_bytes_with_garbage"`
	Residents      int     `json:"residents"` // number of investigations
	Bounds         []bound `json:"bounds"`

	batches []batch
}

// row sums up a workload under one setting, with medians over the rounds.
type row struct {
	Concurrency int           `json:"concurrency"`
	Takes       time.Duration `json:"model_takes_nanoseconds"`
	Workload    string        `json:"workload"`
	Runs        int           `json:"runs"`
	Throughput  float64       `json:"runs_per_second"`
	Latency     float64       `json:"latency_p50_seconds"`
	Slowest     float64       `json:"latency_p95_seconds"`
	// ThroughputRatio and LatencyRatio compare with the bare shape of the same round, HandRatio with the loop
	// by hand. Zero means not run.
	ThroughputRatio float64 `json:"throughput_ratio,omitempty"`
	LatencyRatio    float64 `json:"latency_ratio,omitempty"`
	HandRatio       float64 `json:"throughput_ratio_by_hand,omitempty"`
	Events          int64   `json:"history_events"`
	HistoryBytes    int64   `json:"history_bytes"`
	Transitions     int64   `json:"state_transitions"`
	StoreBytes      int64   `json:"store_bytes"`
	// WorkerCPU is the CPU time of one run in seconds; 0 means unknown.
	WorkerCPU float64 `json:"worker_cpu_seconds,omitempty"`
	ServerCPU float64 `json:"server_cpu_seconds,omitempty"`
	StoreCPU  float64 `json:"store_cpu_seconds,omitempty"`
	// CPURatio compares the CPU time of all processes with the bare shape's. It is the most stable ratio,
	// because it excludes time spent waiting for a busy machine.
	CPURatio float64 `json:"cpu_ratio,omitempty"`
	// Bytes that one run wrote to disk; 0 means unknown. The worker's bytes include those of a SQLite store.
	ServerWritten int64   `json:"server_written_bytes,omitempty"`
	StoreWritten  int64   `json:"store_written_bytes,omitempty"`
	StoreCommits  float64 `json:"store_commits,omitempty"` // number of transactions that wrote; 0 means unknown
	// Peaks of resident memory in bytes; 0 means unknown.
	WorkerMemory int64 `json:"worker_memory_bytes,omitempty"`
	ServerMemory int64 `json:"server_memory_bytes,omitempty"`
}

func newReport(o options) *report {
	return &report{
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

// add adds a round under one setting.
func (r *report) add(batches []batch) {
	r.batches = append(r.batches, batches...)
	r.Rows = nil
	for i, b := range r.batches {
		same := func(other batch) bool { return other.workload == b.workload && other.setting == b.setting }
		if slices.IndexFunc(r.batches, same) == i {
			r.Rows = append(r.Rows, r.row(b.workload, b.setting))
		}
	}
}

func (r *report) row(workload string, s setting) row {
	mine := r.of(workload, s)
	r.Rounds = max(r.Rounds, len(mine))
	out := row{Concurrency: s.concurrency, Takes: s.takes, Workload: workload}
	for _, b := range mine {
		out.Runs += b.n
		out.WorkerMemory = max(out.WorkerMemory, b.weights.worker.memory)
		out.ServerMemory = max(out.ServerMemory, b.weights.server.memory)
	}
	each := func(of func(batch) float64) float64 {
		return median(mine, func(b batch) float64 { return b.each(of(b)) })
	}
	out.Throughput = median(mine, batch.throughput)
	out.Latency = median(mine, batch.median)
	out.Slowest = median(mine, func(b batch) float64 { return seconds(b.latencies, 0.95) })
	out.Events = int64(median(mine, func(b batch) float64 { return float64(b.history.events) }))
	out.HistoryBytes = int64(median(mine, func(b batch) float64 { return float64(b.history.bytes) }))
	out.Transitions = int64(median(mine, func(b batch) float64 { return float64(b.history.transitions) }))
	out.StoreBytes = int64(median(mine, func(b batch) float64 { return float64(b.stored) }))
	out.WorkerCPU = each(func(b batch) float64 { return b.weights.worker.cpu.Seconds() })
	out.ServerCPU = each(func(b batch) float64 { return b.weights.server.cpu.Seconds() })
	out.StoreCPU = each(func(b batch) float64 { return b.weights.database.cpu.Seconds() })
	out.ServerWritten = int64(each(func(b batch) float64 { return float64(b.weights.server.written) }))
	out.StoreWritten = int64(each(func(b batch) float64 { return float64(b.weights.worker.written + b.weights.database.written) }))
	out.StoreCommits = each(func(b batch) float64 { return float64(b.weights.database.commits) })
	if shape := r.of(nameShape, s); len(shape) == len(mine) {
		out.ThroughputRatio = medianRatio(mine, shape, batch.throughput)
		out.LatencyRatio = medianRatio(mine, shape, batch.median)
		out.CPURatio = medianRatio(mine, shape, batch.work)
	}
	if hand := r.of(nameHand, s); len(hand) == len(mine) {
		out.HandRatio = medianRatio(mine, hand, batch.throughput)
	}
	return out
}

// of returns a workload's batches, by round.
func (r *report) of(workload string, s setting) (out []batch) {
	for _, b := range r.batches {
		if b.workload == workload && b.setting == s {
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

// medianRatio compares batches of the same round, so that a disturbance affects both.
func medianRatio(a, b []batch, of func(batch) float64) float64 {
	var values []float64
	for i := range a {
		values = append(values, of(a[i])/of(b[i]))
	}
	if ratio := middle(values); !math.IsNaN(ratio) { // 0/0 means unknown
		return ratio
	}
	return 0
}

func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func (r *report) json(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

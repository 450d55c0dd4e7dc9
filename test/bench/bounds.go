package main

import (
	"errors"
	"fmt"
)

// bound is a limit that must hold, with its measurement.
type bound struct {
	What   string  `json:"what"`
	Figure float64 `json:"figure"`
	Limit  float64 `json:"limit"`
	AtMost bool    `json:"at_most"` // otherwise at least
}

func (b bound) ok() bool {
	if b.AtMost {
		return b.Figure <= b.Limit
	}
	return b.Figure >= b.Limit
}

func (b bound) String() string {
	return fmt.Sprintf("%s: %s, want %s", b.What, number(b.Figure), b.want())
}

func (b bound) want() string {
	if b.AtMost {
		return "≤ " + number(b.Limit)
	}
	return "≥ " + number(b.Limit)
}

// judge compares the measurements with their bounds.
func (r *report) judge() {
	atLeast := func(limit, figure float64, what string, args ...any) {
		r.Bounds = append(r.Bounds, bound{What: fmt.Sprintf(what, args...), Figure: figure, Limit: limit})
	}
	atMost := func(limit, figure float64, what string, args ...any) {
		r.Bounds = append(r.Bounds, bound{What: fmt.Sprintf(what, args...), Figure: figure, Limit: limit, AtMost: true})
	}
	for _, row := range r.Rows {
		if row.Workload != nameInquest || row.Takes > 0 {
			continue
		}
		if row.ThroughputRatio > 0 {
			atLeast(1.25, row.ThroughputRatio, "throughput ÷ bare shape's, %d at a time", row.Concurrency)
			atMost(0.85, row.LatencyRatio, "latency ÷ bare shape's, %d at a time", row.Concurrency)
		}
		if row.HandRatio > 0 {
			atLeast(0.85, row.HandRatio, "throughput ÷ by hand, %d at a time", row.Concurrency)
		}
	}
	for _, l := range r.Long {
		if l.Workload != nameInquest {
			continue
		}
		atLeast(1.2, l.RateRatio, "model calls a second ÷ by hand, long")
		atLeast(float64(l.Of), float64(l.Calls), "model calls made, long")
		atMost(8, float64(l.IterationEvents), "events of the largest of 100 iterations")
		atMost(2.2, float64(l.IterationBytes)/(1<<10), "KB of history of the largest of 100 iterations")
	}
	if r.OwnRatio > 0 {
		atLeast(0.1, r.OwnRatio, "built-in steps a second ÷ rows, %d at a time", ownAgents)
	}
	if r.SickRatio > 0 {
		atMost(1.1, r.SickRatio, "duration beside a sick conversation ÷ without it, %d at a time", healthyRuns)
	}
	if r.Resident > 0 {
		atMost(240, float64(r.Resident)/(1<<10), "KB of memory for each of %d that run", r.Residents)
	}
}

// check returns an error that names the missed bounds, or says that there were none to compare with.
func (r *report) check() error {
	if len(r.Bounds) == 0 {
		return fmt.Errorf("%s: no bound was measured", r.Store)
	}
	var missed []error
	for _, b := range r.Bounds {
		if !b.ok() {
			missed = append(missed, fmt.Errorf("%s: missed: %s", r.Store, b))
		}
	}
	return errors.Join(missed...)
}

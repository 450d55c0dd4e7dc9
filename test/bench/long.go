package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
)

// longRun is an investigation of 100 iterations about 200 KB, or the loop by hand with the same work. Figures
// are medians over the rounds.
type longRun struct {
	Workload string  `json:"workload"`
	Calls    int64   `json:"model_calls"`
	Of       int     `json:"of_model_calls"`
	Ended    bool    `json:"ended_by_temporal"`
	Events   int64   `json:"history_events"`
	Bytes    int64   `json:"history_bytes"`
	Seconds  float64 `json:"seconds"`
	// RateRatio compares model calls per second with the loop by hand in the same round; 0 means unknown.
	RateRatio float64 `json:"rate_ratio,omitempty"`
	// The size of the largest iteration; 0 means unknown.
	IterationEvents int64 `json:"iteration_events,omitempty"`
	IterationBytes  int64 `json:"iteration_bytes,omitempty"`

	rates, took []float64
}

func (l *longRun) rate() float64 { return float64(l.Calls) / l.Seconds }

const longRounds = 3 // enough for a median: a run takes as long as ten runs of 20 steps

func runLong(ctx context.Context, sys *system, o options, result *report) error {
	ours, hand := longRun{Of: long.modelCalls}, longRun{Of: long.modelCalls}
	for round := 1; round <= min(o.rounds, longRounds); round++ {
		if err := ours.run(ctx, sys, newInvestigation(sys.client, long), round); err != nil {
			return err
		}
		if err := hand.run(ctx, sys, handmade{sys.client, long}, round); err != nil {
			return err
		}
		ours.rates = append(ours.rates, ours.rate()/hand.rate())
		o.progressf("long, round %d: %.1f s, by hand %.1f s", round, ours.Seconds, hand.Seconds)
	}
	ours.RateRatio = middle(ours.rates)
	ours.Seconds, hand.Seconds = middle(ours.took), middle(hand.took)
	result.Long = []longRun{ours, hand}
	return nil
}

func (l *longRun) run(ctx context.Context, sys *system, w workload, round int) error {
	l.Workload = w.name()
	sys.services.takes.Store(0)
	if err := sys.forget(); err != nil {
		return err
	}
	answered, begun := sys.services.answered.Load(), time.Now()
	ids, err := w.run(ctx, fmt.Sprintf("long-%s-%d", w.name(), round), 0)
	_, l.Ended = errors.AsType[*temporal.TerminatedError](err)
	if err != nil && (!l.Ended || ids == nil) { // Temporal may end the loop by hand, which is a valid figure
		return fmt.Errorf("%s, long: %w", w.name(), err)
	}
	l.Seconds = time.Since(begun).Seconds()
	l.took = append(l.took, l.Seconds)
	l.Calls = sys.services.answered.Load() - answered
	history, err := historySize(ctx, sys.client, ids)
	if err != nil {
		return err
	}
	l.Events, l.Bytes = history.events, history.bytes
	largest, err := largestIteration(ctx, sys.client, ids[len(ids)-1])
	l.IterationEvents, l.IterationBytes = largest.events, largest.bytes
	return err
}

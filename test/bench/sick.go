package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/circuit"
	"github.com/inquest-dev/inquest/internal/llm/llmtest"
)

// sick marks the request of a conversation on which the model server fails.
const sick = "POISON"

// refuse fails every call of a sick conversation, as a server does that cannot parse one conversation's history.
func (s *services) refuse(req llmtest.Request) (llmtest.Reply, bool) {
	if !strings.Contains(string(req.Body), sick) {
		return llmtest.Reply{}, false
	}
	s.refused.Add(1)
	return llmtest.Status(500, `{"error":{"message":"cannot parse the arguments"}}`), true
}

// The healthy investigations run at the same time, on a model that takes this long.
const (
	healthyRuns  = 20
	healthyTakes = 300 * time.Millisecond
)

// pollCircuit is how often the circuit is read while they run beside a sick conversation.
const pollCircuit = 100 * time.Millisecond

// runSick compares the durations of healthy investigations beside a sick conversation with those of the same number without it.
// Each round runs both, in alternating order. The first runs are without it, so the model is known to answer others.
func runSick(ctx context.Context, sys *system, o options, result *report) error {
	w, s := newInvestigation(sys.client, short), setting{healthyRuns, healthyTakes}
	var ratios []float64
	for round := range o.rounds {
		var medians [2]float64 // without and beside a sick conversation
		for turn := range medians {
			beside := (turn + round) % 2
			var err error
			if medians[beside], err = besideSick(ctx, sys, w, s, fmt.Sprint(round+1), beside == 1); err != nil {
				return err
			}
		}
		ratios = append(ratios, medians[1]/medians[0])
	}
	result.SickRatio = middle(ratios)
	o.progressf("beside a sick conversation: %.2f of the median duration of %d investigations (rounds: %.2f)",
		result.SickRatio, healthyRuns, ratios)
	return nil
}

// besideSick returns the median duration of the healthy investigations, in seconds. It fails if the model's circuit opens beside
// the sick conversation, even if it is open for that conversation alone.
func besideSick(ctx context.Context, sys *system, w workload, s setting, round string, beside bool) (float64, error) {
	name := "healthy-" + round
	closed := func() error { return nil }
	if beside {
		name = "beside-" + round
		end, err := sys.fallSick(ctx, "sick-"+round)
		if err != nil {
			return 0, err
		}
		defer end()
		closed = sys.watchCircuit(ctx, circuit.Key{Provider: short.name, Model: short.model})
	}
	sys.services.takes.Store(int64(s.takes))
	latencies, _, err := runAll(ctx, w, name, s, 2*healthyRuns)
	if err := errors.Join(err, closed()); err != nil {
		return 0, err
	}
	return seconds(latencies, 0.5), nil
}

// watchCircuit reads a model's circuit until end is called, which returns an error if the circuit was open.
func (s *system) watchCircuit(ctx context.Context, key circuit.Key) (end func() error) {
	ctx, stop := context.WithCancel(ctx)
	found := make(chan error, 1)
	go func() {
		for {
			state, _, err := s.store.Circuit(ctx, key)
			switch {
			case ctx.Err() != nil:
				found <- nil
				return
			case err != nil:
				found <- fmt.Errorf("read the circuit of %s: %w", key, err)
				return
			case state.Open():
				found <- fmt.Errorf("a sick conversation has opened the circuit of %s: %+v", key, state)
				return
			}
			select {
			case <-time.After(pollCircuit):
			case <-ctx.Done():
			}
		}
	}()
	return func() error {
		stop()
		return <-found
	}
}

// fallSick starts an investigation that fails on every model call, waits until it has been retried, and returns what cancels it.
func (s *system) fallSick(ctx context.Context, id string) (end func(), err error) {
	before, one := s.services.refused.Load(), newInvestigation(s.client, short)
	one.data = json.RawMessage(`"` + sick + `"`)
	run, err := one.start(ctx, id)
	if err != nil {
		return nil, err
	}
	end = func() {
		if s.client.CancelWorkflow(ctx, id, "") == nil {
			_ = run.Get(ctx, nil) // it may have failed before
		}
	}
	for s.services.refused.Load() < before+2 {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			end()
			return nil, context.Cause(ctx)
		}
	}
	return end, nil
}

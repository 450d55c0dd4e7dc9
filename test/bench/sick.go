package main

import (
	"context"
	"encoding/json"
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

// runSick compares the durations of healthy investigations beside a sick conversation with those of the same number without it.
// Each round runs both, in alternating order.
func runSick(ctx context.Context, sys *system, o options, result *report) error {
	w, s := newInvestigation(sys.client, short), setting{healthyRuns, healthyTakes}
	var ratios []float64
	for round := 1; round <= o.rounds; round++ {
		var medians [2]float64 // without and beside a sick conversation
		for turn := range medians {
			beside := (turn + round) % 2
			var err error
			if medians[beside], err = besideSick(ctx, sys, w, s, fmt.Sprint(round), beside == 1); err != nil {
				return err
			}
		}
		ratios = append(ratios, medians[1]/medians[0])
	}
	result.SickRatio = middle(ratios)
	o.tell("beside a sick conversation: %.2f of the median duration of %d investigations", result.SickRatio, healthyRuns)
	key := circuit.Key{Provider: short.name, Model: short.model}
	state, _, err := sys.store.Circuit(ctx, key)
	if err == nil && !state.Opened.IsZero() && !state.Narrow {
		err = fmt.Errorf("a sick conversation has opened the circuit of %s: %+v", key, state)
	}
	return err
}

// besideSick returns the median duration of the healthy investigations, in seconds.
func besideSick(ctx context.Context, sys *system, w workload, s setting, round string, beside bool) (float64, error) {
	name := "healthy-" + round
	if beside {
		name = "beside-" + round
		end, err := sys.fallSick(ctx, "sick-"+round)
		if err != nil {
			return 0, err
		}
		defer end()
	}
	sys.services.takes.Store(int64(s.takes))
	latencies, _, err := runAll(ctx, w, name, s, 2*healthyRuns)
	if err != nil {
		return 0, err
	}
	return seconds(latencies, 0.5), nil
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

// Package hook is what a worker's program may bring along in Go for the stages of
// chains: hooks, which work before and after a stage's agents, and mocks, which work
// in an agent's place (spec: pipeline, "Pipeline stages").
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/inquest-dev/inquest/internal/safely"
)

// Func is a hook of a stage. Before the agents (pre_process), its output is shown to
// them beside the results of earlier stages; after them (post_process), it is set in
// what the stage hands on. An error makes the stage fail. A worker that dies in the
// midst of a hook makes another one run it again, so what it does has to bear that:
// Input.Key is the same for every attempt. Several hooks may run at once.
type Func func(ctx context.Context, in Input) (Output, error)

// Input is what a hook is told.
type Input struct {
	Investigation string
	Stage         string
	// Key is the same for every attempt at the hook, and of no other run of it.
	Key string
	// Request is the data that the investigation was started with, masked.
	Request string
	// Outputs are what earlier stages have handed on, by their output keys.
	Outputs map[string]StageOutput
	// Prepared is what the stage's pre_process made.
	Prepared StageOutput
	// Output is what the stage is about to hand on; of a pre_process it is zero.
	Output StageOutput
	// Answers are what people said to questions of the chain's stages, oldest first.
	// Of many, only the newest are there.
	Answers []Answer
}

// Answer is a stage's question and what a person answered.
type Answer struct {
	Question string
	// Answer is masked as the request is; "Nobody answered." stands for none in time.
	Answer string
	// By is who answered, as they called themselves; it may be empty.
	By string
}

// StageOutput is what a stage hands on.
type StageOutput struct {
	Text string
	// JSON is the object that the text is, or has in it; nil if the stage hands on text alone.
	JSON map[string]any
}

// Output is what a hook makes of its input.
type Output struct {
	// Output is nil if the hook changes nothing. The keys of another are set in the
	// stage's own JSON object; a stage's text that is none is replaced.
	Output map[string]any
}

// Mock works in an agent's place. What it returns is the agent's result: a string
// as it is, anything else as JSON. For errors and crashes it is like a Func.
type Mock func(ctx context.Context, in MockInput) (any, error)

// MockInput is what a mock is told.
type MockInput struct {
	Investigation string
	Stage         string
	Agent         string
	// Key, Request, Outputs, Prepared and Answers are those of an Input.
	Key      string
	Request  string
	Outputs  map[string]StageOutput
	Prepared StageOutput
	Answers  []Answer
}

// Call runs a hook until it returns or ctx ends; what it returns later is dropped.
func (f Func) Call(ctx context.Context, in Input, log *slog.Logger) (map[string]any, error) {
	out, err := guarded(ctx, log, func() (Output, error) { return f(ctx, in) })
	return out.Output, err
}

// Call runs a mock as a Func is run, and returns the text that its result is.
func (m Mock) Call(ctx context.Context, in MockInput, log *slog.Logger) (string, error) {
	result, err := guarded(ctx, log, func() (any, error) { return m(ctx, in) })
	if err != nil {
		return "", err
	}
	if text, ok := result.(string); ok {
		return text, nil
	}
	body, err := json.Marshal(result)
	if err != nil {
		return "", fmt.Errorf("its result is not JSON: %w", err)
	}
	return string(body), nil
}

// guarded runs a function of somebody else's.
func guarded[T any](ctx context.Context, log *slog.Logger, run func() (T, error)) (T, error) {
	return safely.Run(ctx, run, func(kind, stack string) {
		log.Error("a hook or mock has panicked", "type", kind, "stack", stack)
	})
}

// Package hook defines the Go functions that a worker's program can register for the stages of chains: hooks, which run before and after
// a stage's agents, and mocks, which replace an agent (spec: pipeline, "Pipeline stages").
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/inquest-dev/inquest/internal/kit/safely"
)

// Func is a stage hook. inquest.Hook is the public type and documents the fields. The structs here are converted to the public ones: the
// compiler refuses a field that only one of them has.
type Func func(ctx context.Context, in Input) (Output, error)

// Input is the input of a hook.
type Input struct {
	Investigation, Stage, Key, Request string
	Outputs                            map[string]StageOutput
	Prepared, Output                   StageOutput
	Answers                            []Answer
	RequestedBy, Tenant, Session       string
	Metadata                           map[string]string
	Artifacts                          []Artifact
}

// Artifact describes an artifact that a tool returned, without its content.
type Artifact = struct {
	Ref, Name, MIMEType string
	Size                int
	Execution, Tool     string
}

// Answer is a stage's question and a person's answer.
type Answer = struct{ Question, Answer, By string }

// StageOutput is the result of a stage.
type StageOutput = struct {
	Text string
	JSON map[string]any
}

// Output is the result of a hook.
type Output struct{ Output map[string]any }

// Mock replaces an agent; see inquest.Mock.
type Mock func(ctx context.Context, in MockInput) (any, error)

// MockInput is the input of a mock.
type MockInput struct {
	Investigation, Stage, Agent, Key, Request string
	Outputs                                   map[string]StageOutput
	Prepared                                  StageOutput
	Answers                                   []Answer
	RequestedBy, Tenant, Session              string
	Metadata                                  map[string]string
	Artifacts                                 []Artifact
}

// Prompt writes an agent's system prompt; see inquest.Prompt.
type Prompt func(ctx context.Context, in PromptInput) (string, error)

// PromptInput is the input of a Prompt.
type PromptInput struct {
	MockInput
	Iteration int
}

// Selector chooses an agent's model; see inquest.Selector.
type Selector func(ctx context.Context, in SelectorInput) (model string, err error)

// SelectorInput is the input of a Selector.
type SelectorInput struct {
	Agent, Chain, AlertType, Project, Request string
	RequestedBy, Tenant, Session              string
	Metadata                                  map[string]string
}

// Call runs the function in the same way as Func.Call.
func (s Selector) Call(ctx context.Context, in SelectorInput, log *slog.Logger) (string, error) {
	return guarded(ctx, log, func() (string, error) { return s(ctx, in) })
}

// Call runs the function in the same way as Func.Call.
func (p Prompt) Call(ctx context.Context, in PromptInput, log *slog.Logger) (string, error) {
	return guarded(ctx, log, func() (string, error) { return p(ctx, in) })
}

// Call runs a hook until it returns or ctx ends. Later results are dropped.
func (f Func) Call(ctx context.Context, in Input, log *slog.Logger) (map[string]any, error) {
	out, err := guarded(ctx, log, func() (Output, error) { return f(ctx, in) })
	return out.Output, err
}

// Call runs a mock in the same way as Func.Call and returns its result as text.
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
		return "", fmt.Errorf("its result cannot be encoded as JSON: %w", err)
	}
	return string(body), nil
}

// guarded runs a user's function and turns a panic into an error.
func guarded[T any](ctx context.Context, log *slog.Logger, run func() (T, error)) (T, error) {
	return safely.Run(ctx, run, func(kind, stack string) {
		log.Error("a hook, mock, prompt or selector panicked", "type", kind, "stack", stack)
	})
}

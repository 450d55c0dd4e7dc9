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

// Func is a hook of a stage; inquest.Hook is the public type and says what its fields mean.
// The structs here are converted to those: the compiler refuses a field that only one of them has.
type Func func(ctx context.Context, in Input) (Output, error)

// Input is what a hook is told.
type Input struct {
	Investigation, Stage, Key, Request string
	Outputs                            map[string]StageOutput
	Prepared, Output                   StageOutput
	Answers                            []Answer
	RequestedBy, Tenant, Session       string
	Metadata                           map[string]string
	Artifacts                          []Artifact
}

// Artifact is what a tool has returned besides text, without its content.
type Artifact = struct {
	Ref, Name, MIMEType string
	Size                int
	Execution, Tool     string
}

// Answer is a stage's question and what a person answered.
type Answer = struct{ Question, Answer, By string }

// StageOutput is what a stage hands on.
type StageOutput = struct {
	Text string
	JSON map[string]any
}

// Output is what a hook makes of its input.
type Output struct{ Output map[string]any }

// Mock works in an agent's place: see inquest.Mock.
type Mock func(ctx context.Context, in MockInput) (any, error)

// MockInput is what a mock is told.
type MockInput struct {
	Investigation, Stage, Agent, Key, Request string
	Outputs                                   map[string]StageOutput
	Prepared                                  StageOutput
	Answers                                   []Answer
	RequestedBy, Tenant, Session              string
	Metadata                                  map[string]string
	Artifacts                                 []Artifact
}

// Prompt writes an agent's system prompt: see inquest.Prompt.
type Prompt func(ctx context.Context, in PromptInput) (string, error)

// PromptInput is what it is told.
type PromptInput struct {
	MockInput
	Iteration int
}

// Selector chooses the model of an agent: see inquest.Selector.
type Selector func(ctx context.Context, in SelectorInput) (model string, err error)

// SelectorInput is what it is told.
type SelectorInput struct {
	Agent, Chain, AlertType, Project, Request string
	RequestedBy, Tenant, Session              string
	Metadata                                  map[string]string
}

// Call runs the function as a Func is run.
func (s Selector) Call(ctx context.Context, in SelectorInput, log *slog.Logger) (string, error) {
	return guarded(ctx, log, func() (string, error) { return s(ctx, in) })
}

// Call runs the function as a Func is run.
func (p Prompt) Call(ctx context.Context, in PromptInput, log *slog.Logger) (string, error) {
	return guarded(ctx, log, func() (string, error) { return p(ctx, in) })
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
		log.Error("a hook, mock, prompt or selector has panicked", "type", kind, "stack", stack)
	})
}

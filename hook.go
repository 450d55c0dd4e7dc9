package inquest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/inquest-dev/inquest/internal/hook"
)

// Hook is a function that a stage names. As pre_process it runs before the agents, which see its output beside the
// results of earlier stages. As post_process it runs on the stage's output before routing reads it, and can set keys in
// it. An error or a panic fails the stage, and error_next applies.
//
// A hook runs once unless its worker crashes. Another worker then runs it again, so it must tolerate a repeated run
// (HookInput.Key). A hook has ten minutes, after which the stage fails; it should respect its ctx. Several hooks may
// run at once.
type Hook func(ctx context.Context, in HookInput) (HookOutput, error)

// HookInput is the input of a hook.
type HookInput struct {
	// Investigation is the investigation's id, and Stage the name of the hook's stage.
	Investigation, Stage string
	// Key identifies this run of the hook. It is the same for every attempt, and unique to the run.
	Key string
	// Request is the data that the investigation was started with, masked.
	Request string
	// Outputs holds the output of earlier stages, by their output keys.
	Outputs map[string]StageOutput
	// Prepared is the output of the stage's pre_process.
	Prepared StageOutput
	// Output is the stage's output so far. It is zero in a pre_process.
	Output StageOutput
	// Answers holds people's answers to questions of the chain's stages, oldest first. A long list holds only the
	// newest.
	Answers []Answer
	// RequestedBy, Tenant, Session and Metadata come from the request, masked.
	RequestedBy, Tenant, Session string
	Metadata                     map[string]string
	// Artifacts are the non-text results of the investigation's tools so far.
	Artifacts []Artifact
}

// Artifact is a non-text result of a tool: an image, a file, structured data.
type Artifact = struct {
	// Ref is the reference to pass to Client.Artifact, and Name is usable as a file name.
	Ref, Name, MIMEType string
	Size                int // in bytes
	// Execution is "<stage>/<agent>".
	Execution, Tool string
}

// HookOutput is the output of a hook.
type HookOutput struct {
	// Output is nil if the hook changes nothing. Otherwise its keys are set in the stage's JSON object. Stage text that
	// is not a JSON object is replaced.
	Output map[string]any
}

// StageOutput is the output of a stage.
type StageOutput = struct {
	Text string
	// JSON is the object that Text is or contains. It is nil if the stage's output is only text. Its numbers are float64,
	// except that integers from 2^53 on, such as IDs, are json.Number, because a float64 may lose their digits.
	JSON map[string]any
}

// Answer is a stage's question and a person's answer to it.
type Answer = struct {
	Question string
	// Answer is masked like the request. It is "Nobody answered." if no answer came in time. By is the name that the
	// person gave, and may be empty.
	Answer, By string
}

// Mock is a function that replaces an agent if the request sets use_mock and the agent's entry names the mock. Its
// return value is the agent's result: a string unchanged, anything else as JSON. Errors, panics and crashes are handled
// as for a Hook.
type Mock func(ctx context.Context, in MockInput) (any, error)

// MockInput is the input of a mock. Key, Request, Outputs, Prepared, Answers, Artifacts and the request's labels are as
// in HookInput.
type MockInput struct {
	Investigation, Stage, Agent, Key, Request string
	Outputs                                   map[string]StageOutput
	Prepared                                  StageOutput
	Answers                                   []Answer
	RequestedBy, Tenant, Session              string
	Metadata                                  map[string]string
	Artifacts                                 []Artifact
}

// Prompt writes an agent's system prompt when the agent begins. The returned text is stored, masked, with the first
// reply, and is the agent's prompt from then on. Until that reply is stored, each attempt at the first model call runs
// the function again. A Prompt is used literally, like a text in Options.Prompts, and takes precedence over a text of
// the same name. Errors, panics and crashes are handled as for a Hook; an error ends the agent without trying another
// provider.
type Prompt func(ctx context.Context, in PromptInput) (string, error)

// PromptInput is the input of a Prompt.
type PromptInput struct {
	MockInput
	// Iteration is the agent's first iteration, whose prompt this is.
	Iteration int
}

// Selector chooses the model of an agent whose DefaultModel is "selector:NAME". It returns any other valid
// DefaultModel, but not another selector, in at most 200 printable bytes. It runs once for each agent of a plan
// (replicas share the choice) when the plan is made: when an investigation or a conversation begins, or when a score is
// requested. The plan records the choice, so crashes, further passes, and resets to a point after the plan do not run
// the selector again. If making the plan is interrupted, it starts over and runs the selectors again.
//
// All selectors of a plan together have 20 seconds and run one after the other. They should return much sooner and
// respect their ctx. An error, a panic or a timeout refuses the request. If the request names a provider, that is used
// without asking the selector.
type Selector func(ctx context.Context, in SelectorInput) (model string, err error)

// SelectorInput is the input of a Selector: the agent, and the request, masked. In a conversation only Agent and
// Project are set.
type SelectorInput struct {
	// Agent is the name of the agent's definition, whatever a stage calls its replicas.
	Agent, Chain, AlertType, Project string
	// Request is the data that the investigation was started with.
	Request                      string
	RequestedBy, Tenant, Session string
	Metadata                     map[string]string
}

// forWorker converts functions of the options to the worker's types.
func forWorker[From, To any](all map[string]From, adapt func(name string, run From) To) map[string]To {
	out := map[string]To{}
	for name, run := range all {
		out[name] = adapt(name, run)
	}
	return out
}

func adaptPrompt(_ string, write Prompt) hook.Prompt {
	return func(ctx context.Context, in hook.PromptInput) (string, error) {
		return write(ctx, PromptInput{MockInput(in.MockInput), in.Iteration})
	}
}

func adaptSelector(_ string, choose Selector) hook.Selector {
	return func(ctx context.Context, in hook.SelectorInput) (string, error) {
		return choose(ctx, SelectorInput(in))
	}
}

func adaptHook(_ string, run Hook) hook.Func {
	return func(ctx context.Context, in hook.Input) (hook.Output, error) {
		made, err := run(ctx, HookInput(in))
		return hook.Output(made), err
	}
}

func adaptMock(_ string, run Mock) hook.Mock {
	return func(ctx context.Context, in hook.MockInput) (any, error) { return run(ctx, MockInput(in)) }
}

var codeName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// checkModels returns an error for each model without a function.
func checkModels(all map[string]Model) (wrong error) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] == nil {
			wrong = errors.Join(wrong, fmt.Errorf("model %q: there is no function to run", name))
		}
	}
	return wrong
}

// checkCode returns an error for each hook, mock, prompt or selector with an invalid name or without a function.
func checkCode[F ~func(A, B) (C, error), A, B, C any](what string, all map[string]F) (wrong error) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var problems []error
		if !codeName.MatchString(name) {
			problems = append(problems, errors.New("a name can have 1 to 64 characters of A-Z a-z 0-9 _ . and -"))
		}
		if all[name] == nil {
			problems = append(problems, errors.New("there is no function to run"))
		}
		if problem := errors.Join(problems...); problem != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%s %q: %w", what, name, problem))
		}
	}
	return wrong
}

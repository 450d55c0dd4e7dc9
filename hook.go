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

// Hook is a function that a stage names. As its pre_process it runs before the
// agents, which are shown its output beside the results of earlier stages; as its
// post_process it runs on what the stage is about to hand on, before routing looks
// at that: the keys of its output are set there. An error makes the stage fail, and
// so does a panic; error_next applies.
//
// A hook runs once, but for crashes: when its worker dies, another one runs it
// again, so what it does has to bear that (HookInput.Key). It has ten minutes,
// after which the stage fails, and should listen to its ctx. Several hooks may run at once.
type Hook func(ctx context.Context, in HookInput) (HookOutput, error)

// HookInput is what a hook is told.
type HookInput struct {
	// Investigation is an id of Inquest's, Stage the name of the hook's stage.
	Investigation, Stage string
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
	// RequestedBy, Tenant, Session and Metadata are what the request says of itself, masked.
	RequestedBy, Tenant, Session string
	Metadata                     map[string]string
	// Artifacts are what the tools of the investigation have returned besides text until now.
	Artifacts []Artifact
}

// Artifact is what a tool has returned besides text: an image, a file, structured data.
type Artifact = struct {
	// Ref is what Client.Artifact reads it by, Name one that a file can have.
	Ref, Name, MIMEType string
	Size                int // in bytes
	// Execution is "<stage>/<agent>".
	Execution, Tool string
}

// HookOutput is what a hook makes of its input.
type HookOutput struct {
	// Output is nil if the hook changes nothing. The keys of another are set in the
	// stage's own JSON object; a stage's text that is none is replaced.
	Output map[string]any
}

// StageOutput is what a stage hands on.
type StageOutput = struct {
	Text string
	// JSON is the object that the text is, or has in it; nil if the stage hands on text alone.
	JSON map[string]any
}

// Answer is a stage's question and what a person answered.
type Answer = struct {
	Question string
	// Answer is masked as the request is; "Nobody answered." stands for none in time.
	// By is who answered, as they called themselves; it may be empty.
	Answer, By string
}

// Mock is a function that works in an agent's place where a request says use_mock
// and the agent's entry names it. What it returns is the agent's result: a string
// as it is, anything else as JSON. What is said of errors and crashes of a Hook
// holds for it, too.
type Mock func(ctx context.Context, in MockInput) (any, error)

// MockInput is what a mock is told: Key, Request, Outputs, Prepared, Answers, Artifacts and
// what the request says of itself are those of a HookInput.
type MockInput struct {
	Investigation, Stage, Agent, Key, Request string
	Outputs                                   map[string]StageOutput
	Prepared                                  StageOutput
	Answers                                   []Answer
	RequestedBy, Tenant, Session              string
	Metadata                                  map[string]string
	Artifacts                                 []Artifact
}

// Prompt writes an agent's system prompt, where the agent begins: what it returns is written
// down, masked, with the first reply, and is the prompt from there on. Until that reply is stored,
// each try of the first model call runs the function anew. It stands where a text of Options.Prompts
// would, or before one of that name, as it is. What is said of errors and crashes of a Hook holds for
// it, too: its error ends the agent, and no other provider is asked.
type Prompt func(ctx context.Context, in PromptInput) (string, error)

// PromptInput is what a Prompt is told.
type PromptInput struct {
	MockInput
	// Iteration is the agent's first one, for which the prompt is written.
	Iteration int
}

// Selector chooses the model of an agent whose DefaultModel is "selector:NAME": it returns what a DefaultModel may
// be, but no other selector, in at most 200 bytes that can be printed. It is asked once for each agent of a plan, replicas
// together, as the plan is made: when an investigation or a conversation begins, or when somebody asks for a score. What
// it returns stands in the plan, so that nothing that happens later asks again: no crash, no other pass, and no reset to
// a point after the plan. An attempt to make the plan that was cut off is made anew, and asks anew.
//
// All selectors of a plan have 20 seconds together, one after the other; they should return much sooner, and listen to
// their ctx. An error refuses the request, as a panic does, and so does what takes longer. A provider that the request
// names is taken without asking.
type Selector func(ctx context.Context, in SelectorInput) (model string, err error)

// SelectorInput is what a Selector is told: who works, and what the request says, masked. A conversation has
// an agent and a project, and nothing else.
type SelectorInput struct {
	// Agent is the name of a definition, whatever a stage calls its replicas.
	Agent, Chain, AlertType, Project string
	// Request is the data that the investigation was started with.
	Request                      string
	RequestedBy, Tenant, Session string
	Metadata                     map[string]string
}

// forWorker are functions of the options as the worker knows them.
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

// checkModels says what is wrong with models.
func checkModels(all map[string]Model) (wrong error) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] == nil {
			wrong = errors.Join(wrong, fmt.Errorf("model %q: there is no function to run", name))
		}
	}
	return wrong
}

// checkCode says what is wrong with hooks or mocks.
func checkCode[F ~func(A, B) (C, error), A, B, C any](what string, all map[string]F) (wrong error) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var problems []error
		if !codeName.MatchString(name) {
			problems = append(problems, errors.New("a name has at most 64 of A-Z a-z 0-9 _ . and -"))
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

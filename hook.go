package inquest

import (
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
type Hook = hook.Func

// HookInput is what a hook is told, HookOutput what it makes of it.
type (
	HookInput  = hook.Input
	HookOutput = hook.Output
	// StageOutput is what a stage hands on: a text, and the JSON object in it.
	StageOutput = hook.StageOutput
	// Answer is a stage's question and what a person answered.
	Answer = hook.Answer
)

// Mock is a function that works in an agent's place where a request says use_mock
// and the agent's entry names it. What it returns is the agent's result: a string
// as it is, anything else as JSON. What is said of errors and crashes of a Hook
// holds for it, too.
type Mock = hook.Mock

// MockInput is what a mock is told.
type MockInput = hook.MockInput

var codeName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

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

package activities

import (
	"context"
	"errors"

	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// RunMock has a function of the worker's program work in an agent's place. What it
// returns is the agent's final text.
func (a *Activities) RunMock(ctx context.Context, in RunMockIn) (GenerateOut, error) {
	_, entries, err := a.once(ctx, in.Ref, 1, func(j *job) ([]transcript.Body, error) { return j.mocked(ctx, in) })
	return generateOut(entries), err
}

func (j *job) mocked(ctx context.Context, in RunMockIn) ([]transcript.Body, error) {
	if err := j.begin(ctx, plan.Provider{}); err != nil {
		return nil, err
	}
	mock := code{j, j.agent.Mock, ErrorMock}
	run, ok := j.Mocks[mock.name]
	if !ok {
		return nil, mock.missing(ctx, "mock")
	}
	input, err := j.mockInput(ctx, in)
	if err != nil {
		return nil, err
	}
	text, err := called(ctx, mock, func(ctx context.Context) (string, error) {
		text, err := run.Call(ctx, input, j.Logger)
		if err == nil && text == "" {
			err = errors.New("it returned nothing")
		}
		return text, err
	})
	if err != nil {
		return nil, err
	}
	text, err = mock.shown(ctx, text)
	return []transcript.Body{{Text: text, Reply: transcript.Reply{Invalid: j.invalid(text)}}}, err
}

func (j *job) mockInput(ctx context.Context, in RunMockIn) (hook.MockInput, error) {
	told, err := j.told(ctx, in.Prior, in.Notes)
	return hook.MockInput{
		Investigation: told.Investigation, Stage: told.Stage, Agent: j.agent.Name, Key: told.Key,
		Request: told.Request, Outputs: told.Outputs, Prepared: told.Prepared, Answers: told.Answers,
	}, err
}

// Serve is all that an agent of the pattern service does: its output is empty, and
// what its stage hands on is up to the stage's hooks.
func (a *Activities) Serve(ctx context.Context, in ServeIn) (GenerateOut, error) {
	_, entries, err := a.once(ctx, in.Ref, 1, func(j *job) ([]transcript.Body, error) {
		body := transcript.Body{Text: "{}"}
		if j.stage().PostProcess == "" { // which checks what comes of it
			body.Invalid = j.invalid(body.Text)
		}
		return []transcript.Body{body}, j.begin(ctx, plan.Provider{})
	})
	return generateOut(entries), err
}

package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/output"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// The points at which a stage has hooks, as its configuration calls them.
const (
	PreProcess  = "pre_process"
	PostProcess = "post_process"
)

// HookExecution names what a hook writes, as an agent's execution is named. No
// agent's name has a colon in it.
func HookExecution(stage, point, name string) string { return stage + "/" + point + ":" + name }

// RunHook runs a function of the worker's program before or after a stage's agents.
// One that has written what came of it is not run again.
func (a *Activities) RunHook(ctx context.Context, in RunHookIn) (RunHookOut, error) {
	_, entries, err := a.once(ctx, in.Ref, 1, func(j *job) ([]transcript.Body, error) {
		h := hookRun{code{j, j.stage().PreProcess, ErrorHook}, in}
		if in.Point == PostProcess {
			h.name = j.stage().PostProcess
		}
		return h.run(ctx)
	})
	if err != nil {
		return RunHookOut{}, err
	}
	return RunHookOut{Changed: entries[0].Text != ""}, nil
}

type hookRun struct {
	code
	in RunHookIn
}

func (h hookRun) run(ctx context.Context) ([]transcript.Body, error) {
	run, ok := h.Hooks[h.name]
	if !ok {
		return nil, h.missing(ctx, "hook")
	}
	input, err := h.input(ctx)
	if err != nil {
		return nil, err
	}
	made, err := called(ctx, h.code, func(ctx context.Context) (map[string]any, error) { return run.Call(ctx, input, h.Logger) })
	if err != nil {
		return nil, err
	}
	text, err := h.laidOver(ctx, input.Output.Text, made)
	if err != nil {
		return nil, err
	}
	if h.in.Point == PostProcess {
		if invalid := h.invalid(cmp.Or(text, input.Output.Text)); invalid != "" {
			return nil, final(ErrorInvalidOutput, errors.New(invalid))
		}
	}
	return []transcript.Body{{Text: text}}, nil
}

func (h hookRun) input(ctx context.Context) (in hook.Input, err error) {
	if in, err = h.told(ctx, h.in.Prior, h.in.Notes); err != nil || h.in.Result == "" {
		return in, err
	}
	text, err := h.resultText(ctx, h.ref.Investigation, h.in.Result)
	in.Output = stageOutput(text, h.stage().Steers())
	return in, err
}

// laidOver sets the keys that a hook returned in the object that the stage hands on; the
// others stay. "" = the hook returned nothing.
func (h hookRun) laidOver(ctx context.Context, text string, made map[string]any) (string, error) {
	if made == nil {
		return "", nil
	}
	object, err := output.Object(text)
	if err != nil || h.in.Point == PreProcess {
		object = map[string]json.RawMessage{}
	}
	for key, value := range made {
		if object[key], err = json.Marshal(value); err != nil {
			return "", h.failed(ctx, fmt.Errorf("its output is not JSON: %w", err))
		}
	}
	body, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	return h.shown(ctx, string(body))
}

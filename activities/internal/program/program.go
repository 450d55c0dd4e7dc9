// Package program runs the functions of the worker's program: hooks, mocks and prompts.
package program

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// hookInput returns the input that hooks and mocks have in common.
func (f Function) hookInput(ctx context.Context, prior []job.Source, notes []job.Note) (in hook.Input, err error) {
	in = hook.Input{Investigation: f.Ref.Investigation, Stage: f.Stage().Name, Key: f.Ref.Session()}
	if in.Request, err = f.Request(ctx); err != nil {
		return in, err
	}
	if in.Answers, err = f.answers(ctx, notes); err != nil {
		return in, err
	}
	if in.Outputs, in.Prepared, err = f.handed(ctx, prior); err != nil {
		return in, err
	}
	r, err := f.About(ctx)
	if err != nil {
		return in, err
	}
	in.RequestedBy, in.Tenant, in.Session, in.Metadata = r.Envelope.By, r.Tenant, r.Session, r.Metadata
	in.Artifacts, err = f.artifacts(ctx)
	return in, err
}

// artifacts returns the investigation's artifacts so far.
func (f Function) artifacts(ctx context.Context) (out []hook.Artifact, err error) {
	entries, err := f.Transcripts.WithArtifacts(ctx, f.Ref.Investigation)
	if err != nil {
		return nil, err
	}
	all, err := artifact.List(ctx, entries, f.Blobs)
	for _, a := range all {
		out = append(out, hook.Artifact{
			Ref: a.Ref, Name: a.Name, MIMEType: a.MIMEType, Size: a.Size, Execution: a.Execution, Tool: a.Tool,
		})
	}
	return out, err
}

// handed returns the outputs of earlier stages, by their output keys, and the output of this stage's pre_process.
func (f Function) handed(
	ctx context.Context, prior []job.Source,
) (outputs map[string]hook.StageOutput, prepared hook.StageOutput, err error) {
	outputs = map[string]hook.StageOutput{}
	for _, source := range prior {
		text, err := f.ResultText(ctx, f.Ref.Investigation, source.Execution)
		if err != nil {
			return nil, prepared, err
		}
		stage, known := f.Plan.StageOf(source.Stage)
		switch {
		case source.Prepared():
			prepared = hook.StageOutput{Text: text, JSON: goObject(whole(text))}
		case known:
			outputs[stage.Key()] = f.stageOutput(stage, text)
		}
	}
	return outputs, prepared, nil
}

// answers converts the notes for functions of the worker's program.
func (f Function) answers(ctx context.Context, notes []job.Note) (out []hook.Answer, err error) {
	notes, err = f.ShownNotes(ctx, notes)
	for _, note := range notes {
		out = append(out, hook.Answer{Question: note.Question, Answer: note.Answer, By: note.By})
	}
	return out, err
}

// stageOutput wraps a stage's text. If the stage hands on an object, it also includes that object.
func (f Function) stageOutput(stage plan.Stage, text string) hook.StageOutput {
	out := hook.StageOutput{Text: text}
	if stage.Steers() {
		out.JSON = goObject(f.StageObject(stage, text))
	}
	return out
}

// whole returns the object that a text consists of, or nil. A function of the program has written the text.
func whole(text string) (object map[string]json.RawMessage) {
	_ = json.Unmarshal([]byte(text), &object)
	return object
}

func goObject(fields map[string]json.RawMessage) map[string]any {
	if fields == nil {
		return nil
	}
	out := map[string]any{}
	for key, raw := range fields {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		var value any
		_ = decoder.Decode(&value) // it parsed as JSON before
		out[key] = goValue(value)
	}
	return out
}

// goValue returns a decoded JSON value with float64 for its numbers, except where a float64 may lose digits: integers
// of 2^53 and more and numbers out of its range remain json.Number.
func goValue(value any) any {
	switch v := value.(type) {
	case json.Number:
		number, err := v.Float64()
		if err != nil || math.Abs(number) >= 1<<53 && !strings.ContainsAny(v.String(), ".eE") {
			return v
		}
		return number
	case []any:
		for n := range v {
			v[n] = goValue(v[n])
		}
	case map[string]any:
		for key := range v {
			v[key] = goValue(v[key])
		}
	}
	return value
}

// Function is a function of the worker's program that runs for a job.
type Function struct {
	*job.Job
	Name      string
	ErrorType string // of the function's failures
}

// Missing returns an error that lets another worker try: its program may have the function.
func (f Function) Missing(ctx context.Context, what string) error {
	return job.Cannot(ctx, fmt.Errorf("this worker has no %s named %q", what, f.Name))
}

// CodeTime is how long a function of the worker's program may run.
const CodeTime = 10 * time.Minute

// Run runs the function within CodeTime. A function that hangs would hang again, so it is not retried.
func Run[T any](ctx context.Context, c Function, run func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, CodeTime)
	defer cancel()
	out, err := run(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it did not return within %s. Give its calls shorter timeouts, or move the work to another process", CodeTime)
	}
	if err != nil {
		return out, c.failed(ctx, err)
	}
	return out, nil
}

// failed turns the function's error into an activity failure.
func (f Function) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return job.Ended(ctx, err)
	}
	text, err := f.masked(ctx, err.Error())
	if err != nil {
		return err
	}
	return job.Final(f.ErrorType, fmt.Errorf("%s: %s", f.Name, clip.Bytes(text, maxCodeError)))
}

// Shown masks a text that the function returned, so that it may be stored.
func (f Function) Shown(ctx context.Context, text string) (string, error) {
	text, err := f.masked(ctx, text)
	if err == nil && len(text) > job.MaxInlineResult {
		err = job.Final(f.ErrorType, fmt.Errorf("%s: it returned %d bytes; the limit is %d", f.Name, len(text), job.MaxInlineResult))
	}
	return text, err
}

func (f Function) masked(ctx context.Context, text string) (string, error) {
	text, err := f.MaskData(ctx, f.Plan, f.Name+": the result", text)
	return tool.ValidText(text), err
}

// maxCodeError is how much of an error from other people's code is reported, in bytes.
const maxCodeError = 1000

// RunHook is the activity RunHook.
func RunHook(ctx context.Context, a *job.Worker, in job.RunHookIn) (job.RunHookOut, error) {
	_, entries, err := a.Once(ctx, in.Ref, 1, func(j *job.Job) ([]transcript.Body, error) {
		h := hookRun{Function{Job: j, Name: j.Stage().PreProcess, ErrorType: job.ErrorHook}, in}
		if in.Point == job.PostProcess {
			h.Name = j.Stage().PostProcess
		}
		return h.run(ctx)
	})
	if err != nil {
		return job.RunHookOut{}, err
	}
	return job.RunHookOut{Changed: entries[0].Text != "", Seen: entries[len(entries)-1].Mark()}, nil
}

type hookRun struct {
	Function
	in job.RunHookIn
}

func (h hookRun) run(ctx context.Context) ([]transcript.Body, error) {
	run, ok := h.Hooks[h.Name]
	if !ok {
		return nil, h.Missing(ctx, "hook")
	}
	input, err := h.input(ctx)
	if err != nil {
		return nil, err
	}
	made, err := Run(ctx, h.Function, func(ctx context.Context) (map[string]any, error) { return run.Call(ctx, input, h.Logger) })
	if err != nil {
		return nil, err
	}
	text, err := h.laidOver(ctx, input.Output.Text, made)
	if err != nil {
		return nil, err
	}
	if h.in.Point == job.PostProcess {
		if invalid := h.Invalid(cmp.Or(text, input.Output.Text)); invalid != "" {
			return nil, job.Final(job.ErrorInvalidOutput, errors.New(invalid))
		}
	}
	return []transcript.Body{{Text: text}}, nil
}

func (h hookRun) input(ctx context.Context) (in hook.Input, err error) {
	if in, err = h.hookInput(ctx, h.in.Prior, h.in.Notes); err != nil || h.in.Result == "" {
		return in, err
	}
	text, err := h.ResultText(ctx, h.Ref.Investigation, h.in.Result)
	in.Output = h.stageOutput(h.Stage(), text)
	return in, err
}

// laidOver sets the keys that a hook returned in the object that the stage hands on, and keeps the others. It returns ""
// if the hook returned nothing.
func (h hookRun) laidOver(ctx context.Context, text string, made map[string]any) (string, error) {
	if made == nil {
		return "", nil
	}
	object := h.StageObject(h.Stage(), text)
	if object == nil || h.in.Point == job.PreProcess {
		object = map[string]json.RawMessage{}
	}
	var err error
	for key, value := range made {
		if object[key], err = json.Marshal(value); err != nil {
			return "", h.failed(ctx, fmt.Errorf("its output is not JSON: %w", err))
		}
	}
	body, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	return h.Shown(ctx, string(body))
}

// RunMock is the activity RunMock.
func RunMock(ctx context.Context, a *job.Worker, in job.RunMockIn) (job.GenerateOut, error) {
	_, entries, err := a.Once(ctx, in.Ref, 1, func(j *job.Job) ([]transcript.Body, error) { return mocked(ctx, j, in) })
	return job.Outcome(entries), err
}

func mocked(ctx context.Context, j *job.Job, in job.RunMockIn) ([]transcript.Body, error) {
	if err := j.Begin(ctx, &plan.Provider{}); err != nil {
		return nil, err
	}
	mock := Function{Job: j, Name: j.Agent.Mock, ErrorType: job.ErrorMock}
	run, ok := j.Mocks[mock.Name]
	if !ok {
		return nil, mock.Missing(ctx, "mock")
	}
	input, err := mock.MockInput(ctx, in)
	if err != nil {
		return nil, err
	}
	text, err := Run(ctx, mock, func(ctx context.Context) (string, error) {
		text, err := run.Call(ctx, input, j.Logger)
		if err == nil && text == "" {
			err = errors.New("it returned nothing")
		}
		return text, err
	})
	if err != nil {
		return nil, err
	}
	text, err = mock.Shown(ctx, text)
	return []transcript.Body{{Text: text, Reply: transcript.Reply{Invalid: j.Invalid(text)}}}, err
}

// MockInput returns the input of a mock or a prompt.
func (f Function) MockInput(ctx context.Context, in job.RunMockIn) (hook.MockInput, error) {
	common, err := f.hookInput(ctx, in.Prior, in.Notes)
	return hook.MockInput{
		Investigation: common.Investigation, Stage: common.Stage, Agent: f.Agent.Name, Key: common.Key,
		Request: common.Request, Outputs: common.Outputs, Prepared: common.Prepared, Answers: common.Answers,
		RequestedBy: common.RequestedBy, Tenant: common.Tenant, Session: common.Session, Metadata: common.Metadata, Artifacts: common.Artifacts,
	}, err
}

// Serve is the activity Serve.
func Serve(ctx context.Context, a *job.Worker, in job.ServeIn) (job.GenerateOut, error) {
	_, entries, err := a.Once(ctx, in.Ref, 1, func(j *job.Job) ([]transcript.Body, error) {
		body := transcript.Body{Text: "{}"}
		if j.Stage().PostProcess == "" { // otherwise the hook's result is checked
			body.Invalid = j.Invalid(body.Text)
		}
		return []transcript.Body{body}, j.Begin(ctx, &plan.Provider{})
	})
	return job.Outcome(entries), err
}

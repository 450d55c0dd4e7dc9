package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/inquest-dev/inquest/internal/artifact"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/hook"
	"github.com/inquest-dev/inquest/internal/output"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// The steps shared by executions that call no model: hooks, mocks and the calls of a plan. Each is one or two steps of
// the journal, and a stored step is not run again.

// once is an activity that writes one step. run returns its rows: notices, and a reply. If the step is already stored,
// its entries are returned and run is not called.
func (a *Activities) once(
	ctx context.Context, ref Ref, iteration int, run func(*job) ([]transcript.Body, error),
) (*job, []transcript.Entry, error) {
	ctx, stop := a.attend(ctx)
	defer stop()
	j, err := a.job(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	key := transcript.Key{Iteration: iteration}
	entries, err := j.Transcripts.Lookup(ctx, ref.scope(), key, j.writer)
	if err == nil && entries == nil {
		err = j.requireSeen(ctx, nil)
	}
	if err == nil && entries == nil {
		entries, err = j.journal(ctx, key, run)
	}
	if err != nil {
		return nil, nil, storeFailure(ended(ctx, err))
	}
	return j, entries, nil
}

func (j *job) journal(ctx context.Context, key transcript.Key, run func(*job) ([]transcript.Body, error)) ([]transcript.Entry, error) {
	bodies, err := run(j)
	if err != nil {
		return nil, err
	}
	step := transcript.Step{Scope: j.ref.scope(), Writer: j.writer}
	for n, body := range bodies {
		row := transcript.Row{Key: key, Kind: transcript.KindNotice, Body: body}
		if row.Position = n; n == len(bodies)-1 {
			row.Kind = transcript.KindReply
		}
		step.Rows = append(step.Rows, row)
	}
	if activity.GetInfo(ctx).IsLocalActivity { // nothing would be lost that cannot be obtained again
		return j.Transcripts.Append(ctx, step)
	}
	var entries []transcript.Entry
	err = j.keep(ctx, func(ctx context.Context) error {
		entries, err = j.Transcripts.Append(ctx, step)
		return err
	})
	return entries, err
}

// told returns the input that hooks and mocks have in common.
func (j *job) told(ctx context.Context, prior []Source, notes []Note) (in hook.Input, err error) {
	in = hook.Input{Investigation: j.ref.Investigation, Stage: j.stage().Name, Key: j.ref.session()}
	if in.Request, err = j.request(ctx); err != nil {
		return in, err
	}
	if in.Answers, err = j.answers(ctx, notes); err != nil {
		return in, err
	}
	if in.Outputs, in.Prepared, err = j.handed(ctx, prior); err != nil {
		return in, err
	}
	r, err := j.about(ctx)
	if err != nil {
		return in, err
	}
	in.RequestedBy, in.Tenant, in.Session, in.Metadata = r.Envelope.By, r.Tenant, r.Session, r.Metadata
	in.Artifacts, err = j.artifacts(ctx)
	return in, err
}

// artifacts returns the investigation's artifacts so far.
func (j *job) artifacts(ctx context.Context) (out []hook.Artifact, err error) {
	entries, err := j.Transcripts.WithArtifacts(ctx, j.ref.Investigation)
	if err != nil {
		return nil, err
	}
	all, err := artifact.List(ctx, entries, j.Blobs)
	for _, a := range all {
		out = append(out, hook.Artifact{
			Ref: a.Ref, Name: a.Name, MIMEType: a.MIMEType, Size: a.Size, Execution: a.Execution, Tool: a.Tool,
		})
	}
	return out, err
}

// about returns the investigation's record, which holds the request's metadata. A conversation has no
// record.
func (j *job) about(ctx context.Context) (record.Investigation, error) {
	r, err := j.Records.Investigation(ctx, j.ref.Investigation)
	if errors.Is(err, record.ErrNotFound) {
		err = nil
	}
	return r, err
}

// handed returns the outputs of earlier stages, by their output keys, and the output of this stage's pre_process.
func (j *job) handed(ctx context.Context, prior []Source) (outputs map[string]hook.StageOutput, prepared hook.StageOutput, err error) {
	outputs = map[string]hook.StageOutput{}
	for _, source := range prior {
		text, err := j.resultText(ctx, j.ref.Investigation, source.Execution)
		if err != nil {
			return nil, prepared, err
		}
		stage, known := j.plan.StageOf(source.Stage)
		switch {
		case source.prepared():
			prepared = stageOutput(text, true)
		case known:
			outputs[stage.Key()] = stageOutput(text, stage.Steers())
		}
	}
	return outputs, prepared, nil
}

// answers converts the notes for functions of the worker's program.
func (j *job) answers(ctx context.Context, notes []Note) (out []hook.Answer, err error) {
	notes, err = j.shownNotes(ctx, notes)
	for _, note := range notes {
		out = append(out, hook.Answer{Question: note.Question, Answer: note.Answer, By: note.By})
	}
	return out, err
}

// prepared reports whether the source is the output of this stage's pre_process rather than a stage.
func (s Source) prepared() bool { return strings.Contains(s.Execution, "/"+PreProcess+":") }

// stageOutput wraps a text. If the stage hands on an object, it also includes the object parsed from the text.
func stageOutput(text string, object bool) hook.StageOutput {
	out := hook.StageOutput{Text: text}
	if fields, err := output.Object(text); err == nil && object {
		out.JSON = map[string]any{}
		for key, raw := range fields {
			var value any
			_ = json.Unmarshal(raw, &value) // it parsed as JSON before
			out.JSON[key] = value
		}
	}
	return out
}

// code is a function of the worker's program that runs for a job.
type code struct {
	*job
	name      string
	errorType string // of the function's failures
}

// missing returns an error that lets another worker try: its program may have the function.
func (c code) missing(ctx context.Context, what string) error {
	return cannot(ctx, fmt.Errorf("this worker has no %s named %q", what, c.name))
}

// CodeTime is how long a function of the worker's program may run.
const CodeTime = 10 * time.Minute

// called runs the function within CodeTime. A function that hangs would hang again, so it is not retried.
func called[T any](ctx context.Context, c code, run func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, CodeTime)
	defer cancel()
	out, err := run(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it did not return within %s. Set a timeout on what it waits for, or move the work elsewhere", CodeTime)
	}
	if err != nil {
		return out, c.failed(ctx, err)
	}
	return out, nil
}

// failed turns the function's error into an activity failure.
func (c code) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ended(ctx, err)
	}
	text, err := c.masked(ctx, err.Error())
	if err != nil {
		return err
	}
	return final(c.errorType, fmt.Errorf("%s: %s", c.name, clip.Bytes(text, maxCodeError)))
}

// shown masks a text that the function returned, so that it may be stored.
func (c code) shown(ctx context.Context, text string) (string, error) {
	text, err := c.masked(ctx, text)
	if err == nil && len(text) > maxInlineResult {
		err = final(c.errorType, fmt.Errorf("%s: it returned %d bytes; %d are allowed", c.name, len(text), maxInlineResult))
	}
	return text, err
}

func (c code) masked(ctx context.Context, text string) (string, error) {
	text, err := c.maskData(ctx, c.plan, c.name+": what it returned", text)
	return tool.ValidText(text), err
}

// maxCodeError is how much of an error from other people's code is reported, in bytes.
const maxCodeError = 1000

// stage returns the plan of the stage that the activity works for.
func (j *job) stage() plan.Stage {
	stage, _ := j.plan.StageAt(j.ref.Stage) // the job's agent is part of it
	return stage
}

// The points at which a stage has hooks, named as in its configuration.
const (
	PreProcess  = "pre_process"
	PostProcess = "post_process"
)

// HookExecution names the output of a hook the way an agent's execution is named. Agent names cannot contain a colon.
func HookExecution(stage, point, name string) string { return stage + "/" + point + ":" + name }

// RunHook runs a function of the worker's program before or after a stage's agents. A hook whose result is stored is not
// run again.
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
	return RunHookOut{Changed: entries[0].Text != "", Seen: entries[len(entries)-1].Mark()}, nil
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

// laidOver sets the keys that a hook returned in the object that the stage hands on, and keeps the others. It returns ""
// if the hook returned nothing.
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

// RunMock runs a function of the worker's program in place of an agent. Its return value is the agent's final text.
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
		RequestedBy: told.RequestedBy, Tenant: told.Tenant, Session: told.Session, Metadata: told.Metadata, Artifacts: told.Artifacts,
	}, err
}

// Serve is the only step of an agent of the pattern service. Its output is empty, and the stage's hooks produce the
// stage's output.
func (a *Activities) Serve(ctx context.Context, in ServeIn) (GenerateOut, error) {
	_, entries, err := a.once(ctx, in.Ref, 1, func(j *job) ([]transcript.Body, error) {
		body := transcript.Body{Text: "{}"}
		if j.stage().PostProcess == "" { // otherwise the hook's result is checked
			body.Invalid = j.invalid(body.Text)
		}
		return []transcript.Body{body}, j.begin(ctx, plan.Provider{})
	})
	return generateOut(entries), err
}

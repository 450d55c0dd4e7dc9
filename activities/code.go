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

// What is the same for every execution that asks no model: hooks, mocks, the calls of a
// plan. Each is one or two steps of the journal, and a stored step is not made again.

// once is an activity that writes one step, whose rows run returns: notices, and a reply.
// If the step is stored already, its entries are returned and run is not called.
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
	if activity.GetInfo(ctx).IsLocalActivity { // nothing is in hand that could not be had again
		return j.Transcripts.Append(ctx, step)
	}
	var entries []transcript.Entry
	err = j.keep(ctx, func(ctx context.Context) error {
		entries, err = j.Transcripts.Append(ctx, step)
		return err
	})
	return entries, err
}

// told is the input that hooks and mocks have in common.
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

// artifacts are those of the investigation until now.
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

// about is the record of the investigation, which says what its request says of itself; of a
// conversation there is none.
func (j *job) about(ctx context.Context) (record.Investigation, error) {
	r, err := j.Records.Investigation(ctx, j.ref.Investigation)
	if errors.Is(err, record.ErrNotFound) {
		err = nil
	}
	return r, err
}

// handed returns the outputs of earlier stages, by their output keys, and what this
// stage's pre_process has prepared.
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

// answers are the notes as functions of the worker's program are told them.
func (j *job) answers(ctx context.Context, notes []Note) (out []hook.Answer, err error) {
	notes, err = j.shownNotes(ctx, notes)
	for _, note := range notes {
		out = append(out, hook.Answer{Question: note.Question, Answer: note.Answer, By: note.By})
	}
	return out, err
}

// prepared: the source is no stage, but what the pre_process of this one made.
func (s Source) prepared() bool { return strings.Contains(s.Execution, "/"+PreProcess+":") }

// stageOutput is a text, and the object in it of a stage that hands one on.
func stageOutput(text string, object bool) hook.StageOutput {
	out := hook.StageOutput{Text: text}
	if fields, err := output.Object(text); err == nil && object {
		out.JSON = map[string]any{}
		for key, raw := range fields {
			var value any
			_ = json.Unmarshal(raw, &value) // it was read as JSON before
			out.JSON[key] = value
		}
	}
	return out
}

// code is a function of the worker's program that runs for a job.
type code struct {
	*job
	name      string
	errorType string // of its failures
}

// missing: the program of another worker may have what this one's has not.
func (c code) missing(ctx context.Context, what string) error {
	return cannot(ctx, fmt.Errorf("this worker has no %s %q", what, c.name))
}

// CodeTime is how long a function of the worker's program may take.
const CodeTime = 10 * time.Minute

// called runs the function within its time. A function that hangs would hang again, so it
// is not tried a second time.
func called[T any](ctx context.Context, c code, run func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, CodeTime)
	defer cancel()
	out, err := run(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it did not return within %s: give what it waits for a timeout of its own, or have it done elsewhere", CodeTime)
	}
	if err != nil {
		return out, c.failed(ctx, err)
	}
	return out, nil
}

// failed is the failure of the function.
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

// shown is a text that the function made as it may be stored.
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

// maxCodeError is how much of an error of somebody else's code is told, in bytes.
const maxCodeError = 1000

// stage is the plan of the stage that the activity works for.
func (j *job) stage() plan.Stage {
	stage, _ := j.plan.StageAt(j.ref.Stage) // it has the job's agent
	return stage
}

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
		RequestedBy: told.RequestedBy, Tenant: told.Tenant, Session: told.Session, Metadata: told.Metadata, Artifacts: told.Artifacts,
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

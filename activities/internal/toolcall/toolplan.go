package toolcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// PlanKey is the output key of the stage whose plan tool_plan agents carry out (spec: pipeline, "Pipeline stages").
const PlanKey = "plan"

// PlanCalls is the activity PlanCalls.
func PlanCalls(ctx context.Context, a *job.Worker, in job.PlanCallsIn) (job.GenerateOut, error) {
	j, entries, err := a.Once(ctx, in.Ref, 1, func(j *job.Job) ([]transcript.Body, error) { return Calls{j}.planCalls(ctx, in.Prior) })
	if err != nil {
		return job.GenerateOut{}, err
	}
	out, err := Calls{j}.Judged(ctx, entries)
	return out, job.StoreFailure(job.Ended(ctx, err))
}

func (j Calls) planCalls(ctx context.Context, prior []job.Source) (bodies []transcript.Body, err error) {
	if err := j.Begin(ctx, &plan.Provider{}); err != nil {
		return nil, err
	}
	steps, err := j.steps(ctx, prior)
	if err != nil {
		return nil, err
	}
	tools, _, err := j.OfferedNow(ctx)
	if err != nil {
		return nil, err
	}
	from, err := j.Exposed(ctx, prior, nil)
	if err != nil {
		return nil, err
	}
	for _, text := range j.Notices() {
		bodies = append(bodies, transcript.Body{Text: text})
	}
	reply := transcript.Body{Untrusted: from}
	for n, s := range steps {
		call := j.NewCall(tools, 1, n, s.Tool, s.arguments(), from)
		call.Step = s.words(n)
		reply.Calls = append(reply.Calls, call)
	}
	j.NoteRepeats(tools, nil, reply.Calls)
	return append(bodies, reply), nil
}

// planStep is a step of a plan.
type planStep struct {
	ID         json.RawMessage `json:"step_id"`
	Tool       string          `json:"tool"`
	Parameters json.RawMessage `json:"parameters"`

	// Optional notes on the step; their JSON type varies between models.
	Description json.RawMessage `json:"description"`
	Purpose     json.RawMessage `json:"purpose"`
	Reason      json.RawMessage `json:"reason"`
	Rationale   json.RawMessage `json:"rationale"`
}

// words returns the n-th step's id and description.
func (s planStep) words(n int) string {
	for _, said := range []json.RawMessage{s.Description, s.Purpose, s.Reason, s.Rationale} {
		var text string
		if json.Unmarshal(said, &text) == nil && strings.TrimSpace(text) != "" {
			return s.id(n) + ": " + clip.Bytes(text, maxPlanStep)
		}
	}
	return s.id(n)
}

// id returns the n-th step's id: the plan's id, or else step_<n>.
func (s planStep) id(n int) string {
	var text string
	switch err := json.Unmarshal(s.ID, &text); {
	case err == nil && text != "":
		return text
	case err != nil && len(s.ID) > 0:
		return string(s.ID) // not a string, for example a number
	}
	return fmt.Sprintf("step_%d", n)
}

// arguments returns the arguments of the step's call. An empty string means none.
func (s planStep) arguments() string {
	if string(s.Parameters) == "null" {
		return ""
	}
	return string(s.Parameters)
}

// steps returns the steps of the plan that an earlier stage handed on, if any.
func (j Calls) steps(ctx context.Context, prior []job.Source) (steps []planStep, err error) {
	for _, source := range prior {
		stage, known := j.Plan.StageOf(source.Stage)
		if !known || stage.Key() != PlanKey || source.Prepared() {
			continue
		}
		text, err := j.ResultText(ctx, j.Ref.Investigation, source.Execution)
		if err != nil {
			return nil, err
		}
		steps = nil // the newest plan counts
		object := j.StageObject(stage, text, "steps")
		if len(object["steps"]) == 0 {
			continue
		}
		if err := json.Unmarshal(object["steps"], &steps); err != nil {
			return nil, job.Final(job.ErrorInvalidPlan, errors.New("the steps of the plan must be a list of {tool, parameters, step_id}"))
		}
		if len(steps) > job.MaxCalls {
			return nil, job.Final(job.ErrorInvalidPlan, fmt.Errorf("the plan has %d steps; the limit is %d", len(steps), job.MaxCalls))
		}
	}
	return steps, nil
}

// planResult is the final text of an agent of the pattern tool_plan.
type planResult struct {
	Results []stepResult `json:"results"`
	// TotalTimeMS is the time from the plan to the last result, including waits for people.
	TotalTimeMS  int64 `json:"total_time_ms"`
	AllSucceeded bool  `json:"all_succeeded"`
}

type stepResult struct {
	ID        string          `json:"step_id"`
	Tool      string          `json:"tool"`
	Status    string          `json:"status"` // success or error
	Result    json.RawMessage `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`
	ErrorType string          `json:"error_type,omitempty"`
	agent.Fault
	// Truncated means that Result holds only the beginning of the result, as text.
	Truncated bool  `json:"truncated,omitempty"`
	TimeMS    int64 `json:"time_ms"`
}

// PlanResult is the activity PlanResult.
func PlanResult(ctx context.Context, a *job.Worker, in job.PlanResultIn) (job.GenerateOut, error) {
	_, entries, err := a.Once(ctx, in.Ref, 2, func(j *job.Job) ([]transcript.Body, error) { return Calls{j}.planResult(ctx, in) })
	return job.Outcome(entries), err
}

func (j Calls) planResult(ctx context.Context, in job.PlanResultIn) ([]transcript.Body, error) {
	if _, err := j.AppendResults(ctx, in.Inputs); err != nil {
		return nil, err
	}
	steps, err := j.steps(ctx, in.Prior)
	if err != nil {
		return nil, err
	}
	entries, err := j.Transcripts.Entries(ctx, j.Ref.Scope())
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	text, err := json.Marshal(joined(steps, entries))
	return []transcript.Body{{Text: string(text), Reply: transcript.Reply{Invalid: j.Invalid(string(text))}}}, err
}

// joined returns the results of the steps. entries must be in key order.
func joined(steps []planStep, entries []transcript.Entry) planResult {
	out := planResult{Results: make([]stepResult, len(steps)), AllSucceeded: true}
	for n, s := range steps {
		out.Results[n] = stepResult{
			ID: s.id(n), Tool: s.Tool, Status: string(tool.StatusError), ErrorType: tool.ErrorNotRun, Error: transcript.NotRun,
		}
	}
	var planned, begun transcript.Entry
	for _, e := range entries {
		switch n := e.CallIndex(); {
		case e.Kind == transcript.KindReply:
			planned = e
		case e.Kind == transcript.KindCall && n < len(steps):
			begun = e
			out.Results[n].ErrorType, out.Results[n].Error = tool.ErrorOutcomeUnknown, transcript.Unknown
		case e.Kind == transcript.KindResult && n < len(steps):
			r := &out.Results[n]
			r.take(e, job.MaxInlineResult/len(steps))
			if begun.Key == transcript.CallKey(e.Iteration, n) {
				r.TimeMS = e.At.Sub(begun.At).Milliseconds()
			}
			out.TotalTimeMS = max(out.TotalTimeMS, e.At.Sub(planned.At).Milliseconds())
		}
	}
	for _, r := range out.Results {
		out.AllSucceeded = out.AllSucceeded && r.ErrorType == "" && r.Status == string(tool.StatusSuccess)
	}
	return out
}

// take copies at most limit bytes of a result.
func (r *stepResult) take(e transcript.Entry, limit int) {
	r.Tool, r.Status, r.ErrorType, r.Fault, r.Error = e.Call.Name, e.Status, e.ErrorType, e.Fault, ""
	text := clip.Bytes(e.Text, limit)
	r.Truncated = len(text) < e.Size
	if e.ErrorType != "" {
		r.Error = text
		return
	}
	var compact bytes.Buffer
	if r.Truncated || json.Compact(&compact, []byte(text)) != nil {
		compact.Reset()
		quoted, _ := json.Marshal(text) // a string always encodes
		compact.Write(quoted)
	}
	r.Result = compact.Bytes()
}

package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/output"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// PlanKey is the output key of the stage whose plan is carried out by agents of the pattern tool_plan (spec: pipeline,
// "Pipeline stages").
const PlanKey = "plan"

// PlanCalls records the steps of an earlier stage's plan as the calls of a reply. The workflow then makes them under the
// same policy as a model's calls.
func (a *Activities) PlanCalls(ctx context.Context, in PlanCallsIn) (GenerateOut, error) {
	j, entries, err := a.once(ctx, in.Ref, 1, func(j *job) ([]transcript.Body, error) { return j.planCalls(ctx, in.Prior) })
	if err != nil {
		return GenerateOut{}, err
	}
	out, err := j.judged(ctx, entries)
	return out, storeFailure(ended(ctx, err))
}

func (j *job) planCalls(ctx context.Context, prior []Source) (bodies []transcript.Body, err error) {
	if err := j.begin(ctx, plan.Provider{}); err != nil {
		return nil, err
	}
	steps, err := j.steps(ctx, prior)
	if err != nil {
		return nil, err
	}
	tools, _, err := j.offeredNow(ctx)
	if err != nil {
		return nil, err
	}
	from, err := j.exposed(ctx, prior, nil)
	if err != nil {
		return nil, err
	}
	for _, text := range j.notices() {
		bodies = append(bodies, transcript.Body{Text: text})
	}
	reply := transcript.Body{Untrusted: from}
	for n, s := range steps {
		call := j.asked(tools, 1, n, s.Tool, s.arguments(), from)
		call.Step = s.words(n)
		reply.Calls = append(reply.Calls, call)
	}
	return append(bodies, reply), nil
}

// planStep is a step of a plan.
type planStep struct {
	ID         json.RawMessage `json:"step_id"`
	Tool       string          `json:"tool"`
	Parameters json.RawMessage `json:"parameters"`

	// A plan's optional notes on a step, of any type, because models differ.
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
		return string(s.ID) // not text: a number, for example
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
func (j *job) steps(ctx context.Context, prior []Source) (steps []planStep, err error) {
	for _, source := range prior {
		stage, known := j.plan.StageOf(source.Stage)
		if !known || stage.Key() != PlanKey || source.prepared() {
			continue
		}
		text, err := j.resultText(ctx, j.ref.Investigation, source.Execution)
		if err != nil {
			return nil, err
		}
		steps = nil // the newest plan counts
		object, err := output.Object(text)
		if err != nil || len(object["steps"]) == 0 {
			continue
		}
		if err := json.Unmarshal(object["steps"], &steps); err != nil {
			return nil, final(ErrorInvalidPlan, errors.New("the steps of the plan must be a list of {tool, parameters, step_id}"))
		}
		if len(steps) > maxCalls {
			return nil, final(ErrorInvalidPlan, fmt.Errorf("the plan has %d steps; the limit is %d", len(steps), maxCalls))
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

// PlanResult combines the results of the steps into the agent's final text.
func (a *Activities) PlanResult(ctx context.Context, in PlanResultIn) (GenerateOut, error) {
	_, entries, err := a.once(ctx, in.Ref, 2, func(j *job) ([]transcript.Body, error) { return j.planResult(ctx, in) })
	return generateOut(entries), err
}

func (j *job) planResult(ctx context.Context, in PlanResultIn) ([]transcript.Body, error) {
	if _, err := j.appendResults(ctx, in.Inputs); err != nil {
		return nil, err
	}
	steps, err := j.steps(ctx, in.Prior)
	if err != nil {
		return nil, err
	}
	entries, err := j.Transcripts.Entries(ctx, j.ref.scope())
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	text, err := json.Marshal(joined(steps, entries))
	return []transcript.Body{{Text: string(text), Reply: transcript.Reply{Invalid: j.invalid(string(text))}}}, err
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
			r.take(e, maxInlineResult/len(steps))
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

// take copies a result, limited to limit bytes.
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

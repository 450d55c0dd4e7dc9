package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// planResult is the final text of an agent of the pattern tool_plan.
type planResult struct {
	Results []stepResult `json:"results"`
	// TotalTimeMS is from the plan to the last result, waiting for people included.
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
	// Truncated: of a result only the beginning is here, as text.
	Truncated bool  `json:"truncated,omitempty"`
	TimeMS    int64 `json:"time_ms"`
}

// PlanResult joins what came of the steps into the agent's final text.
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

// joined are the results of the steps, which entries tell of in key order.
func joined(steps []planStep, entries []transcript.Entry) planResult {
	out := planResult{Results: make([]stepResult, len(steps)), AllSucceeded: true}
	for n, s := range steps {
		out.Results[n] = stepResult{ID: s.id(n), Tool: s.Tool, Status: string(tool.StatusError), ErrorType: tool.ErrorNotRun, Error: "This call was not run."}
	}
	var planned, begun transcript.Entry
	for _, e := range entries {
		switch n := e.CallIndex(); {
		case e.Kind == transcript.KindReply:
			planned = e
		case e.Kind == transcript.KindCall:
			begun = e
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

// take takes in a result, of which at most limit bytes are kept.
func (r *stepResult) take(e transcript.Entry, limit int) {
	r.Tool, r.Status, r.ErrorType, r.Error = e.Call.Name, e.Status, e.ErrorType, ""
	text := clip.Bytes(e.Text, limit)
	r.Truncated = len(text) < e.Size
	if e.ErrorType != "" {
		r.Error = text
		return
	}
	var compact bytes.Buffer
	if r.Truncated || json.Compact(&compact, []byte(text)) != nil {
		compact.Reset()
		quoted, _ := json.Marshal(text) // a string can be
		compact.Write(quoted)
	}
	r.Result = compact.Bytes()
}

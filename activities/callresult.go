package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// appendResults appends the results among a workflow's inputs, and reports whether there are any.
func (j *job) appendResults(ctx context.Context, inputs []Input) (some bool, err error) {
	for _, input := range inputs {
		if input.Kind != InputResult {
			continue
		}
		some = true
		if err := j.appendResult(ctx, input); err != nil {
			return some, err
		}
	}
	return some, nil
}

// appendResult appends a result that the workflow decided, unless the call has one. If the call was interrupted, the
// transcript shows whether it may have taken effect.
func (j *job) appendResult(ctx context.Context, input Input) error {
	in := CallToolIn{Ref: j.ref, Iteration: input.Iteration, Call: input.Call, Decision: input.Decision}
	c := toolCall{job: j, in: in, refused: !input.Done}
	known, err := j.Transcripts.LookupCall(ctx, j.ref.scope(), input.Iteration, input.Call, j.writer)
	if err != nil || len(known.Step) > 0 {
		return err
	}
	begun, err := c.read(ctx, known.Log)
	if err != nil {
		return err
	}
	if input.Decision != nil && !begun {
		if _, _, err := c.decide(ctx, known.Catalogues); err != nil { // needed to record what the person saw
			return err
		}
	}
	result := tool.Failure(cmp.Or(input.ErrorType, tool.ErrorTool), input.Text)
	if input.Done {
		intent := c.intends(ctx, input.Decision)
		result, c.intent, c.began = tool.Success(input.Text), &intent, true
	}
	denied := input.Decision != nil && !input.Decision.Approved
	switch {
	case begun && denied:
		result = outcomeUnknown(c.call.Name, input.Text+" An earlier attempt had started the call.")
	case begun && c.call.Class == string(tool.NonIdempotent):
		result = outcomeUnknown(c.call.Name, input.Text)
	}
	if d := input.Decision; d != nil && !input.Done && !(d.Approved && begun) {
		untold := *d
		if !d.Approved {
			untold.Reason = input.Text
		}
		c.untold = &untold
	}
	_, err = c.write(ctx, result)
	return err
}

// maxInlineResult is how much of a result is stored in the transcript, in bytes. A larger result is stored in full as a
// blob.
const maxInlineResult = 256 << 10

// write appends a result, together with the call's intent if that is not written yet.
func (c *toolCall) write(ctx context.Context, result tool.Result) (transcript.Entry, error) {
	body := transcript.Body{
		Text: result.Content, Call: &c.call, Status: string(result.Status), ErrorType: result.ErrorType,
		Result: transcript.Result{Size: len(result.Content), Pause: result.Pause, Fault: result.Fault},
	}
	if !c.refused && result.ErrorType != tool.ErrorRateLimited {
		body.Untrusted = c.source(c.call.Name)
	}
	if d := c.in.Decision; c.refused && d != nil && !d.Approved && result.ErrorType == ResultDenied {
		body.By, body.Decision, body.Refused = d.By, d.said(), true
	}
	for _, artifact := range result.Artifacts {
		hash, kept, err := c.putArtifact(ctx, artifact)
		if err != nil {
			return transcript.Entry{}, err
		}
		body.Artifacts, body.Kept = append(body.Artifacts, hash), append(body.Kept, kept)
	}
	if err := c.keepImages(ctx, &result, &body); err != nil {
		return transcript.Entry{}, err
	}
	if len(result.Content) > maxInlineResult {
		var err error
		if body.Blob, err = c.Blobs.PutBlob(ctx, []byte(result.Content)); err != nil {
			return transcript.Entry{}, fmt.Errorf("keep the result of %s: %w", c.call.Name, err)
		}
		body.Text = beginning(result.Content, maxInlineResult)
	}
	if d := c.in.Decision; c.untold == nil && d != nil && d.Approved && !c.began {
		c.untold = d // no intent records it
	}
	row := transcript.Row{
		Key: transcript.ResultKey(c.in.Iteration, c.in.Call), Kind: transcript.KindResult, Body: body,
		Acts: c.endedActs(ctx, c.untold, body),
	}
	step := transcript.Step{Scope: c.ref.scope(), Writer: c.writer, Rows: []transcript.Row{row}, Intent: c.intent}
	entries, err := c.Transcripts.Append(ctx, step)
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("append the result of %s: %w", c.call.Name, err)
	}
	count(ctx, metricToolCalls, "class", cmp.Or(c.call.Class, "unknown"), "outcome", cmp.Or(body.ErrorType, body.Status))
	return entries[0], nil
}

func (j *job) putArtifact(ctx context.Context, artifact tool.Artifact) (hash string, kept transcript.Kept, err error) {
	if artifact.JSON != nil {
		artifact.JSON, err = json.Marshal(artifact.JSON) // normalised, as it is stored and read
	}
	var body []byte
	if err == nil {
		body, err = json.Marshal(artifact)
	}
	if err != nil {
		return "", kept, fmt.Errorf("keep artifact %s: %w", artifact.Name, err)
	}
	hash, err = j.Blobs.PutBlob(ctx, body)
	return hash, transcript.Kept{Name: artifact.Name, MIMEType: artifact.MIMEType, Size: len(artifact.Content())}, err
}

package toolcall

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// RecordDecided is the activity RecordDecided.
func RecordDecided(ctx context.Context, a *job.Worker, in job.DecidedIn) (out job.DecidedOut, err error) {
	ctx, stop := a.Attend(ctx)
	defer stop()
	j, err := a.Job(ctx, in.Ref)
	if err == nil {
		_, err = Calls{j}.AppendResults(ctx, in.Results)
	}
	if err == nil {
		out.Seen = j.Ref.Seen[len(in.Ref.Seen):]
	}
	return out, job.StoreFailure(job.Ended(ctx, err))
}

// AppendResults appends the results among a workflow's inputs, and reports whether there are any.
func (j Calls) AppendResults(ctx context.Context, inputs []job.Input) (some bool, err error) {
	for _, input := range inputs {
		if input.Kind != job.InputResult {
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
func (j Calls) appendResult(ctx context.Context, input job.Input) error {
	in := job.CallToolIn{Ref: j.Ref, Iteration: input.Iteration, Call: input.Call, Decision: input.Decision}
	c := toolCall{Calls: j, in: in}
	known, err := j.Transcripts.LookupCall(ctx, j.Ref.Scope(), input.Iteration, input.Call, j.Writer)
	if err != nil || len(known.Step) > 0 {
		j.Saw(known.Step...)
		return err
	}
	if err := c.read(ctx, known.Log); err != nil {
		return err
	}
	begun := c.state.begunEarlier()
	if input.Decision != nil && !begun {
		if _, _, err := c.decide(ctx, known.Catalogues); err != nil { // needed to record what the person saw
			return err
		}
	}
	result := tool.Failure(cmp.Or(input.ErrorType, tool.ErrorTool), input.Text)
	if input.Done {
		intent := c.intends(ctx, input.Decision)
		result, c.intent, c.state = tool.Success(input.Text), &intent, intended
	} else {
		c.refuse()
	}
	const earlier = " An earlier attempt had started the call."
	denied := input.Decision != nil && !input.Decision.Approved
	switch {
	case begun && denied:
		result = tool.OutcomeUnknown(c.call.Name, input.Text+earlier)
	case begun && c.call.Class == string(tool.NonIdempotent):
		result = tool.OutcomeUnknown(c.call.Name, input.Text)
	case begun && input.Decision != nil && !input.Done:
		result.Content += earlier
	}
	if r := c.call.Repeat; r != nil && r.Times > 0 && input.ErrorType == job.ResultDenied && !begun {
		result.Content += " " + r.Reminder()
	}
	if d := input.Decision; d != nil && !input.Done && !(d.Approved && begun) {
		unrecorded := *d
		if !d.Approved {
			unrecorded.Reason = input.Text
		}
		c.unrecorded = &unrecorded
	}
	entry, err := c.write(ctx, result)
	if err == nil {
		j.Saw(entry)
	}
	return err
}

// write appends a result, together with the call's intent if that is not written yet.
func (c *toolCall) write(ctx context.Context, result tool.Result) (transcript.Entry, error) {
	body := transcript.Body{
		Text: result.Content, Call: &c.call, Status: string(result.Status), ErrorType: result.ErrorType,
		Result: transcript.Result{Size: len(result.Content), Pause: result.Pause, Found: result.Found, Fault: result.Fault},
		Answer: transcript.Answer{ElapsedMS: c.elapsed.Milliseconds()},
	}
	if !c.state.refused() && result.ErrorType != tool.ErrorRateLimited {
		body.Untrusted = c.Source(c.call.Name)
	}
	if d := c.in.Decision; c.state.refused() && d != nil && !d.Approved && result.ErrorType == job.ResultDenied {
		body.By, body.Decision, body.Refused = d.By, d.Said(), true
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
	if len(result.Content) > job.MaxInlineResult {
		var err error
		if body.Blob, err = c.Blobs.PutBlob(ctx, []byte(result.Content)); err != nil {
			return transcript.Entry{}, fmt.Errorf("keep the result of %s: %w", c.call.Name, err)
		}
		body.Text = job.Beginning(result.Content, job.MaxInlineResult)
	}
	if d := c.in.Decision; c.unrecorded == nil && d != nil && d.Approved && !c.state.recorded() {
		c.unrecorded, body.Digest = d, d.Digest // no intent records it
	}
	row := transcript.Row{
		Key: transcript.ResultKey(c.in.Iteration, c.in.Call), Kind: transcript.KindResult, Body: body,
		Acts: c.endedActs(ctx, c.unrecorded, body),
	}
	step := c.Step(row)
	step.Intent = c.intent
	entries, err := c.Transcripts.Append(ctx, step)
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("append the result of %s: %w", c.call.Name, err)
	}
	job.Count(ctx, job.MetricToolCalls, "class", cmp.Or(c.call.Class, "unknown"), "outcome", cmp.Or(body.ErrorType, body.Status))
	return entries[0], nil
}

func (j Calls) putArtifact(ctx context.Context, artifact tool.Artifact) (hash string, kept transcript.Kept, err error) {
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

package activities

import (
	"context"
	"encoding/json"

	"github.com/inquest-dev/inquest/activities/internal/job"
	"github.com/inquest-dev/inquest/internal/kit/clip"
	"github.com/inquest-dev/inquest/internal/kit/output"
	"github.com/inquest-dev/inquest/internal/plan"
)

// outputOf parses a stage's final text and returns its JSON object and the fields that steer the chain. It returns nothing
// for a stage that does not steer, for a text that violates its contract, and for plain text.
func (a recorder) outputOf(ctx context.Context, in SaveStageIn) (out SaveStageOut, err error) {
	p, err := a.ReadPlan(ctx, in.Plan)
	if err != nil || in.Stage.Result == "" {
		return out, err
	}
	stage, _ := p.StageAt(in.Stage.Index)
	if !stage.Steers() || in.Outside {
		return out, nil
	}
	text, err := a.ResultText(ctx, in.Stage.Investigation, in.Stage.Result)
	if err != nil {
		return out, err
	}
	object := a.StageObject(stage, text)
	if object == nil {
		return out, nil // plain text: the contract, if any, has been checked
	}
	if out.Output, err = a.keepOutput(ctx, object); err != nil {
		return out, err
	}
	out.Fields = map[string]json.RawMessage{}
	for _, key := range job.SteeringKeys(stage) {
		if value, ok := object[key]; ok && len(value) <= plan.MaxRuleValue {
			out.Fields[key] = value
		}
	}
	_ = json.Unmarshal(object[job.FieldOutcome], &out.Outcome)
	return out, nil
}

// maxFeedback limits a review's feedback, in bytes: it goes into the input of every later stage.
const maxFeedback = 4 << 10

// reviewOf reads the reviewer's verdict, already checked against its contract. Anything other than an approval sends the result
// back.
func (a recorder) reviewOf(ctx context.Context, in SaveStageIn) (*Review, error) {
	if in.Review == "" {
		return nil, nil
	}
	text, err := a.ResultText(ctx, in.Stage.Investigation, in.Review)
	if err != nil {
		return nil, err
	}
	var said Review
	object, err := output.Object(text, a.Meets("reviewer", plan.ReviewContract))
	if err == nil {
		_ = json.Unmarshal(object[plan.FieldApproved], &said.Approved)
		_ = json.Unmarshal(object[plan.FieldFeedback], &said.Feedback)
	}
	said.Feedback = clip.Text(said.Feedback, maxFeedback)
	return &said, nil
}

// maxOutput is the largest output that is kept in a workflow's state, in bytes.
const maxOutput = 16 << 10

func (a recorder) keepOutput(ctx context.Context, object map[string]json.RawMessage) (out Output, err error) {
	if out.Value, err = json.Marshal(object); err != nil || len(out.Value) <= maxOutput {
		return out, err
	}
	out.Ref, err = a.Blobs.PutBlob(ctx, out.Value)
	out.Value = nil
	return out, err
}

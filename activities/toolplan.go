package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/inquest-dev/inquest/internal/output"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// PlanKey is the output key of the stage whose plan agents of the pattern
// tool_plan carry out (spec: pipeline, "Pipeline stages").
const PlanKey = "plan"

// PlanCalls writes the steps of an earlier stage's plan down as the calls of a
// reply, under the same policy; the workflow then has them made as a model's are.
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
	for _, text := range j.notices() {
		bodies = append(bodies, transcript.Body{Text: text})
	}
	reply := transcript.Body{}
	for n, s := range steps {
		reply.Calls = append(reply.Calls, j.asked(tools, 1, n, s.Tool, s.arguments()))
	}
	return append(bodies, reply), nil
}

// planStep is a step of a plan.
type planStep struct {
	ID         json.RawMessage `json:"step_id"`
	Tool       string          `json:"tool"`
	Parameters json.RawMessage `json:"parameters"`
}

// id is what the n-th step is called: what the plan calls it, else step_<n>.
func (s planStep) id(n int) string {
	var text string
	switch err := json.Unmarshal(s.ID, &text); {
	case err == nil && text != "":
		return text
	case err != nil && len(s.ID) > 0:
		return string(s.ID) // a number
	}
	return fmt.Sprintf("step_%d", n)
}

// arguments are those of the step's call; "" = none.
func (s planStep) arguments() string {
	if string(s.Parameters) == "null" {
		return ""
	}
	return string(s.Parameters)
}

// steps are those of the plan that an earlier stage has handed on; none, if none has.
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
		steps = nil // the newest plan is the one
		object, err := output.Object(text)
		if err != nil || len(object["steps"]) == 0 {
			continue
		}
		if err := json.Unmarshal(object["steps"], &steps); err != nil {
			return nil, final(ErrorInvalidPlan, errors.New("the steps of the plan are not a list of {tool, parameters, step_id}"))
		}
		if len(steps) > maxCalls {
			return nil, final(ErrorInvalidPlan, fmt.Errorf("the plan has %d steps; %d are possible", len(steps), maxCalls))
		}
	}
	return steps, nil
}

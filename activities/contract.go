package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/clip"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/output"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/tool"
)

// contract returns the requirements for the agent's final text.
func (j *job) contract() plan.Contract {
	c := j.agent.Contract
	c.JSON = c.JSON || j.row.JSON || len(c.Required) > 0 || len(c.Schema) > 0
	return c
}

// invalid describes how a final text violates the contract. An empty string means that it does not, or that there is no text.
func (j *job) invalid(text string) string {
	c := j.contract()
	if !c.Asks() || text == "" {
		return ""
	}
	object, err := output.Object(text)
	if err == nil {
		err = output.Missing(j.agent.Name, object, c.Required)
	}
	if err == nil && len(c.Schema) > 0 {
		err = j.violations(c.Schema, object)
	}
	if err != nil {
		return clip.Bytes(tool.ValidText(err.Error()), 500)
	}
	return ""
}

// mayStand reports whether a text that violates the contract may be used as a partial result. If not, the agent fails: in
// conversations, outside of stages, for reviewers, and if routing, a review or a hook of the stage relies on the text.
func (j *job) mayStand() bool {
	if j.plan.Conversation || j.ref.Stage < 0 || j.ref.Agent == plan.ReviewIndex {
		return false
	}
	stage, _ := j.plan.StageAt(j.ref.Stage)
	r := stage.Routing
	return len(r.Rules) == 0 && r.LoopTarget == "" && r.ErrorNext == "" && r.OnApprove == "" && r.Review == nil && stage.PostProcess == ""
}

func (j *job) violations(schema json.RawMessage, object map[string]json.RawMessage) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var document map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil {
		return err
	}
	return j.Validator.Violations(schema, document)
}

// The output keys that steer a chain, besides those of its routing rules.
const (
	fieldOutcome   = "outcome"
	fieldQuestion  = "question"
	fieldMessage   = "message"
	fieldData      = "data" // shown to people with a question
	fieldInterrupt = "interrupt"
)

// outputOf parses a stage's final text and returns its JSON object and the fields that steer the chain. It returns nothing
// for a stage that does not steer, for a text that violates its contract, and for plain text.
func (a *Activities) outputOf(ctx context.Context, in SaveStageIn) (out SaveStageOut, err error) {
	p, err := a.plan(ctx, in.Plan)
	if err != nil || in.Stage.Result == "" {
		return out, err
	}
	stage, _ := p.StageAt(in.Stage.Index)
	keys := []string{fieldOutcome, fieldQuestion, fieldMessage, fieldData, fieldInterrupt}
	for _, rule := range stage.Routing.Rules {
		keys = append(keys, rule.Condition)
	}
	if !stage.Steers() || in.Outside {
		return out, nil
	}
	text, err := a.resultText(ctx, in.Stage.Investigation, in.Stage.Result)
	if err != nil {
		return out, err
	}
	object, err := output.Object(text)
	if err != nil {
		return out, nil // plain text: the contract, if any, has been checked
	}
	if out.Output, err = a.keepOutput(ctx, object); err != nil {
		return out, err
	}
	out.Fields = map[string]json.RawMessage{}
	for _, key := range keys {
		if value, ok := object[key]; ok && len(value) <= plan.MaxRuleValue {
			out.Fields[key] = value
		}
	}
	_ = json.Unmarshal(object[fieldOutcome], &out.Outcome)
	return out, nil
}

// maxFeedback limits a review's feedback, in bytes: it goes into the input of every later stage.
const maxFeedback = 4 << 10

// reviewOf reads the verdict of the stage's reviewer. Its contract has been checked, and anything other than an approval
// sends the result back.
func (a *Activities) reviewOf(ctx context.Context, in SaveStageIn) (*Review, error) {
	if in.Review == "" {
		return nil, nil
	}
	text, err := a.resultText(ctx, in.Stage.Investigation, in.Review)
	if err != nil {
		return nil, err
	}
	var said Review
	object, err := output.Object(text)
	if err == nil {
		_ = json.Unmarshal(object[plan.FieldApproved], &said.Approved)
		_ = json.Unmarshal(object[plan.FieldFeedback], &said.Feedback)
	}
	said.Feedback = clip.Text(said.Feedback, maxFeedback)
	return &said, nil
}

// maxOutput is the largest output that is kept in a workflow's state, in bytes.
const maxOutput = 16 << 10

func (a *Activities) keepOutput(ctx context.Context, object map[string]json.RawMessage) (out Output, err error) {
	if out.Value, err = json.Marshal(object); err != nil || len(out.Value) <= maxOutput {
		return out, err
	}
	out.Ref, err = a.Blobs.PutBlob(ctx, out.Value)
	out.Value = nil
	return out, err
}

// keepsSchema reports whether a provider enforces the contract's schema on the agent's final text, even while the agent
// may call tools: every request has the same format, so that requests begin alike (prompt caching). An agent that must cite
// evidence has no enforced schema, because the schema has no field for it.
func (g *generation) keepsSchema(p plan.Provider) bool {
	var root struct {
		Type any `json:"type"`
	}
	schema := g.contract().Schema
	besideTools := g.row.Pattern != agent.SingleShot || len(nativeTools(p)) > 0
	return json.Unmarshal(schema, &root) == nil && root.Type == "object" && !g.namesEvidence() &&
		llm.KeepsSchema(p.Dialect().Structured, llm.Request{Model: p.Model, Schema: schema, Thinking: p.Thinking}, besideTools)
}

// spelledOut returns the contract for the prompt. It includes the schema, unless every provider of the agent receives
// the schema separately.
func (g *generation) spelledOut() plan.Contract {
	c := g.contract()
	inWords := func(p plan.Provider) bool { return !g.keepsSchema(p) }
	if len(g.agent.Providers) > 0 && !slices.ContainsFunc(g.agent.Providers, inWords) {
		c.Schema = nil
	}
	return c
}

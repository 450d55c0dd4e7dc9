package plan

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Contract describes the required form of an agent's final text (spec: pipeline, "Pipeline stages"). The zero value
// requires nothing.
type Contract struct {
	// JSON means that the text is, or contains, a JSON object.
	JSON bool `json:"json,omitempty"`
	// Required are keys that the object must have.
	Required []string `json:"required_output_fields,omitempty"`
	// Schema is a JSON schema of the object.
	Schema json.RawMessage `json:"output_schema,omitempty"`
}

// Asks reports whether the contract requires anything.
func (c Contract) Asks() bool { return c.JSON || len(c.Required) > 0 || len(c.Schema) > 0 }

// Routing says which stage comes after a stage. The zero value means the next in order.
type Routing struct {
	// Rules are tried in order. The first whose condition matches gives the target.
	Rules       []Rule `json:"routing_rules,omitempty"`
	DefaultNext string `json:"default_next,omitempty"` // if no rule matches
	ErrorNext   string `json:"error_next,omitempty"`   // if the stage fails
	LoopTarget  string `json:"loop_target,omitempty"`  // if it asks for another pass and no rule matches
	// Requires are stages that must have succeeded before this one starts. After are stages that must have ended, if
	// they run at all.
	Requires []string `json:"requires,omitempty"`
	After    []string `json:"after,omitempty"`
	// JoinAny means that one of Requires is enough.
	JoinAny bool `json:"join_any,omitempty"`
	// OnApprove is the target, including TargetNext, when people agree to a confirmation that routing asked for. Empty
	// means that the stage that Resume or the chain names runs again.
	OnApprove string `json:"on_approve,omitempty"`
	// Resume names the stages that continue with answers to the stage's questions, by kind of question. For other
	// kinds, the chain's setting applies.
	Resume map[string]string `json:"resume,omitempty"`
	// Review is the review of the stage's result before the chain continues. Nil means no review.
	Review *Review `json:"agent_review,omitempty"`
}

// Review says how the result of a successful stage is reviewed.
type Review struct {
	Question string `json:"question"`
	// People review the result; otherwise the stage's Review agent does.
	People bool `json:"people,omitempty"`
	// Back is the stage that runs again if the result is not approved. Empty means the reviewed stage.
	Back string `json:"back,omitempty"`
}

// Leads reports whether the routing names a target for a successful stage.
func (r Routing) Leads(target string) bool {
	return target == r.DefaultNext ||
		slices.ContainsFunc(r.Rules, func(rule Rule) bool { return rule.Target == target })
}

// Rule sends a chain to a target when a key of the stage's output has a value.
type Rule struct {
	Condition string          `json:"condition"`
	Value     json.RawMessage `json:"value"`
	Target    string          `json:"target"`
}

// MaxRuleValue is the maximum size of a rule's value, in bytes of JSON. Longer fields of a stage's output are not kept
// for rules.
const MaxRuleValue = 4 << 10

// The targets that are not stages.
const (
	TargetEnd           = "end"
	TargetClarification = "clarification"
	TargetConfirmation  = "confirmation"
	// TargetNext is the default next stage. No stage can have this name.
	TargetNext = ">"
)

// Bounds limit a chain's run. Zero means no limit.
type Bounds struct {
	MaxPasses   int         `json:"max_passes,omitempty"`
	MaxLLMCalls int         `json:"max_llm_calls,omitempty"`
	MaxHops     int         `json:"max_agent_hops,omitempty"`
	Edges       []EdgeLimit `json:"edge_limits,omitempty"`
	// The budgets limit the tokens of all model calls, input and output, and their cost.
	MaxTokens int     `json:"max_tokens_total,omitempty"`
	MaxCost   float64 `json:"max_cost_usd,omitempty"`
	// MaxDuration is set if the plan's timeout comes from the budget. The investigation then ends cleanly.
	MaxDuration Duration `json:"max_duration,omitempty"`
	// OnLimit is OnBoundAsk if people are asked, for OnLimitTimeout, before a limit of calls, tokens, money or time
	// ends the work.
	OnLimit        OnBound  `json:"on_limit,omitempty"`
	OnLimitTimeout Duration `json:"on_limit_timeout,omitempty"`
	// Origins say where each limit comes from, by its key in the configuration: the file and line, or "default".
	Origins map[string]string `json:"origins,omitempty"`
}

// EdgeLimit limits how often a chain goes from one stage to another.
type EdgeLimit struct {
	From string `json:"from"`
	To   string `json:"to"`
	Max  int    `json:"max_count"`
}

// The fields of a review.
const (
	FieldApproved = "approved"
	FieldFeedback = "feedback"
)

// ReviewContract is the contract of an agent that reviews a stage's result.
var ReviewContract = Contract{JSON: true, Required: []string{FieldApproved, FieldFeedback}, Schema: json.RawMessage(
	`{"type":"object","properties":{"approved":{"type":"boolean"},"feedback":{"type":"string"}},"required":["approved","feedback"]}`)}

// asksPeople reports whether the stage's result may lead to people.
func (r Routing) asksPeople() bool {
	asked := func(target string) bool { return r.Leads(target) || r.ErrorNext == target || r.OnApprove == target }
	return r.Review != nil && r.Review.People || asked(TargetClarification) || asked(TargetConfirmation)
}

// Unattended returns an error if a stage may ask people, apart from calls that need approval.
func (p *Plan) Unattended() error {
	for _, s := range p.Stages {
		if s.Routing.asksPeople() {
			return fmt.Errorf("stage %s asks people", s.Name)
		}
	}
	return nil
}

// Interrupts say how a chain waits for people.
type Interrupts struct {
	Clarification Interrupt `json:"clarification,omitzero"`
	Confirmation  Interrupt `json:"confirmation,omitzero"`
	Review        Interrupt `json:"agent_review,omitzero"`
}

// Of returns the interrupt of a kind.
func (i Interrupts) Of(kind string) Interrupt {
	switch kind {
	case TargetClarification:
		return i.Clarification
	case TargetConfirmation:
		return i.Confirmation
	}
	return i.Review
}

// Interrupt says how a chain waits for one kind of answer.
type Interrupt struct {
	// Resume is the stage that continues with the answer. Empty means the stage that asked.
	Resume string `json:"resume_stage,omitempty"`
	// Expires is how long to wait for an answer. Zero means the kind's default.
	Expires Duration `json:"expires,omitempty"`
	// Continue means that the chain continues without an answer; otherwise it ends.
	Continue bool `json:"on_expiry_continue,omitempty"`
}

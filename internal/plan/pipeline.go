package plan

import (
	"encoding/json"
	"slices"
)

// Contract is what an agent's final text has to be (spec: pipeline, "Pipeline
// stages"). The zero value asks for nothing.
type Contract struct {
	// JSON: the text is, or has in it, a JSON object.
	JSON bool `json:"json,omitempty"`
	// Required are keys that the object must have.
	Required []string `json:"required_output_fields,omitempty"`
	// Schema is a JSON schema of the object.
	Schema json.RawMessage `json:"output_schema,omitempty"`
}

// Asks reports whether the contract asks for anything.
func (c Contract) Asks() bool { return c.JSON || len(c.Required) > 0 || len(c.Schema) > 0 }

// Routing says which stage comes after a stage. The zero value: the next in order.
type Routing struct {
	// Rules are tried in order: the first whose condition holds names the target.
	Rules       []Rule `json:"routing_rules,omitempty"`
	DefaultNext string `json:"default_next,omitempty"` // when no rule holds
	ErrorNext   string `json:"error_next,omitempty"`   // when the stage fails
	LoopTarget  string `json:"loop_target,omitempty"`  // when it asks for another pass and no rule holds
	// Requires are stages that must have succeeded before this one starts; After
	// are stages that must have ended, if they run at all.
	Requires []string `json:"requires,omitempty"`
	After    []string `json:"after,omitempty"`
	// JoinAny: one of Requires is enough.
	JoinAny bool `json:"join_any,omitempty"`
	// OnApprove is where the chain goes from the stage when people agree to what routing asked them, TargetNext among
	// the targets; "" = the stage that Resume or the chain names does its work again.
	OnApprove string `json:"on_approve,omitempty"`
	// Resume names the stages that go on with answers to the stage's questions, by their kind; others are the chain's to name.
	Resume map[string]string `json:"resume,omitempty"`
	// Review has the stage's result looked at before the chain goes on; nil = nobody does.
	Review *Review `json:"agent_review,omitempty"`
}

// Review is how the result of a stage that has succeeded is looked at.
type Review struct {
	Question string `json:"question"`
	// People look at it; else the stage's Review agent does.
	People bool `json:"people,omitempty"`
	// Back is the stage that does its work again if the result is not approved; "" = the reviewed one.
	Back string `json:"back,omitempty"`
}

// Leads reports whether the routing names a target for a stage that has succeeded.
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

// MaxRuleValue bounds what a rule compares with, in bytes of JSON: of a stage's output,
// no longer field is kept for rules to look at.
const MaxRuleValue = 4 << 10

// The targets that are not stages.
const (
	TargetEnd           = "end"
	TargetClarification = "clarification"
	TargetConfirmation  = "confirmation"
	// TargetNext is whatever comes next by itself; no stage can be called so.
	TargetNext = ">"
)

// Bounds limit a chain's run; 0 = no bound.
type Bounds struct {
	MaxPasses   int         `json:"max_passes,omitempty"`
	MaxLLMCalls int         `json:"max_llm_calls,omitempty"`
	MaxHops     int         `json:"max_agent_hops,omitempty"`
	Edges       []EdgeLimit `json:"edge_limits,omitempty"`
	// Budgets: tokens of all model calls, in and out, and their price.
	MaxTokens int     `json:"max_tokens_total,omitempty"`
	MaxCost   float64 `json:"max_cost_usd,omitempty"`
	// MaxDuration is the plan's timeout if that is the budget's; it then ends cleanly.
	MaxDuration Duration `json:"max_duration,omitempty"`
	// OnLimit is OnBoundAsk: people are asked, for OnLimitTimeout, before a bound of calls, tokens, money or time ends the work.
	OnLimit        OnBound  `json:"on_limit,omitempty"`
	OnLimitTimeout Duration `json:"on_limit_timeout,omitempty"`
	// Origins say where each bound comes from, by its key in the configuration: the
	// file and line, or "default".
	Origins map[string]string `json:"origins,omitempty"`
}

// OnBound says what happens when a bound is reached.
type OnBound string

// What happens when a bound is reached.
const (
	OnBoundEnd OnBound = "end"
	OnBoundAsk OnBound = "ask"
)

// EdgeLimit bounds how often a chain goes from one stage to another.
type EdgeLimit struct {
	From string `json:"from"`
	To   string `json:"to"`
	Max  int    `json:"max_count"`
}

// The fields of a review, and what it has to be.
const (
	FieldApproved = "approved"
	FieldFeedback = "feedback"
)

// ReviewContract is that of an agent that reviews a stage's result.
var ReviewContract = Contract{JSON: true, Required: []string{FieldApproved, FieldFeedback}, Schema: json.RawMessage(
	`{"type":"object","properties":{"approved":{"type":"boolean"},"feedback":{"type":"string"}},"required":["approved","feedback"]}`)}

// Interrupts say how a chain waits for people.
type Interrupts struct {
	Clarification Interrupt `json:"clarification,omitzero"`
	Confirmation  Interrupt `json:"confirmation,omitzero"`
	Review        Interrupt `json:"agent_review,omitzero"`
}

// Of is the interrupt of a kind.
func (i Interrupts) Of(kind string) Interrupt {
	switch kind {
	case TargetClarification:
		return i.Clarification
	case TargetConfirmation:
		return i.Confirmation
	}
	return i.Review
}

// Interrupt is how a chain waits for one kind of answer.
type Interrupt struct {
	// Resume is the stage that goes on with the answer; "" = the one that asked.
	Resume string `json:"resume_stage,omitempty"`
	// Expires is how long an answer is waited for; 0 = the kind's default.
	Expires Duration `json:"expires,omitempty"`
	// Continue: without an answer the chain goes on; else it ends.
	Continue bool `json:"on_expiry_continue,omitempty"`
}

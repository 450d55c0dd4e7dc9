package config

import (
	"encoding/json"

	"github.com/inquest-dev/inquest/value"
)

// Flow describes the inputs and outputs of a stage, and where its chain continues.
// Its keys belong to the stage. If the stage has only one agent, they may be on that agent's entry instead.
type Flow struct {
	// OutputKey is the name of the stage's output, unique within the chain.
	OutputKey string `yaml:"output_key" default:"the stage's name"`
	// RequiredOutputFields are keys that the stage's result must have. The result is then a JSON object. If the agent's
	// text has several objects, the last one that meets this and output_schema is the result, and one in a code fence
	// rather than another. A template such as {"cause": "<cause>"} is never a result.
	RequiredOutputFields []string `yaml:"required_output_fields" default:"none"`
	// OutputSchema is a JSON schema of the stage's result, which is then a JSON object. It may refer only to itself.
	OutputSchema json.RawMessage `yaml:"output_schema" default:"none"`
	// RoutingRules are where the chain continues after the stage has succeeded. The first matching rule applies.
	RoutingRules []RoutingRule `yaml:"routing_rules" default:"none"`
	// DefaultNext is where the chain continues if no rule matches: a stage, end, clarification or confirmation.
	DefaultNext string `yaml:"default_next" default:"the next stage in order"`
	// ErrorNext is where the chain continues if the stage fails.
	ErrorNext string `yaml:"error_next" default:"none: the chain fails"`
	// LoopTarget is where the chain continues if the stage asks for another pass and no rule matches.
	LoopTarget string `yaml:"loop_target" default:"none: the chain fails"`
	// OnApprove is where the chain continues after people have agreed: a stage or end. It requires routing_rules or
	// default_next with the target confirmation. Such a stage is a gate: if nobody answers in time, the chain ends,
	// regardless of on_expiry.
	OnApprove string `yaml:"on_approve" default:"the stage of confirmation_resume_stage, else the next one"`
	// ClarificationResumeStage is the stage that gets the answer to this stage's question, and runs next.
	ClarificationResumeStage string `yaml:"clarification_resume_stage" default:"the one in interrupts, else this stage"`
	// ConfirmationResumeStage is the stage that runs next when people have agreed to a question of this stage's agents.
	ConfirmationResumeStage string `yaml:"confirmation_resume_stage" default:"the one in interrupts, else this stage"`
	// AgentReviewResumeStage is the stage that runs next after people have reviewed the work of this stage's agent.
	AgentReviewResumeStage string `yaml:"agent_review_resume_stage" default:"the one in interrupts, else this stage"`
	// Requires are stages that must have succeeded before this one starts. In a chain with requires or after, a stage
	// starts as soon as it can, in parallel with others, and jumps only go back.
	Requires []string `yaml:"requires" default:"none"`
	// After are stages that must have ended before this one starts, if they run at all.
	After []string `yaml:"after" default:"none"`
	// Join is how many of the stages in requires must have succeeded: all, or any one of them.
	Join string `yaml:"join" enum:"join" default:"all"`
	// PreProcess is a function that the workers' program has registered in Go. It runs before the stage's agents, and they
	// get its output. See docs/reference/go-api.md.
	PreProcess string `yaml:"pre_process" default:"none"`
	// PostProcess is another function registered in Go. It receives the stage's output, and can change it or fail the
	// stage.
	PostProcess string `yaml:"post_process" default:"none"`
}

// RoutingRule sends a chain to a target.
type RoutingRule struct {
	// Condition is the key of the stage's result that the rule compares; required.
	Condition string `yaml:"condition"`
	// Value is the value that the key must have, compared as JSON: 1 equals 1.0, and lists and mappings are compared as
	// a whole; required, and may be null.
	Value json.RawMessage `yaml:"value"`
	// Target is a stage, end, clarification or confirmation; required. A stage at or before this one begins
	// another pass.
	Target string `yaml:"target"`
}

// The ways to join a stage's dependencies.
const (
	JoinAll = "all"
	JoinAny = "any"
)

// Interrupts control how long a chain waits for answers from people, and where it continues.
type Interrupts struct {
	// ClarificationResumeStage is the stage that gets the answer to a question, and runs next.
	ClarificationResumeStage string `yaml:"clarification_resume_stage" default:"the stage that asked"`
	// ConfirmationResumeStage is the stage that runs next when people have agreed. If they disagree, the investigation
	// ends.
	ConfirmationResumeStage string `yaml:"confirmation_resume_stage" default:"the stage that asked"`
	// AgentReviewResumeStage is the stage that runs next after people have reviewed the work of an agent.
	AgentReviewResumeStage string `yaml:"agent_review_resume_stage" default:"the stage that asked"`
	// ClarificationTimeout is how long to wait for the answer to a question.
	ClarificationTimeout value.Duration `yaml:"clarification_timeout" default:"24h"`
	// ConfirmationTimeout is how long to wait for a confirmation.
	ConfirmationTimeout value.Duration `yaml:"confirmation_timeout" default:"1h"`
	// AgentReviewTimeout is how long to wait for a review.
	AgentReviewTimeout value.Duration `yaml:"agent_review_timeout" default:"30m"`
	// OnExpiry is what happens if nobody answers in time: the investigation ends, or continues without an answer. At a
	// gate it always ends.
	OnExpiry string `yaml:"on_expiry" enum:"on expiry" default:"end"`
}

// The values of Interrupts.OnExpiry, for questions that nobody answers in time.
const (
	OnExpiryEnd      = "end"
	OnExpiryContinue = "continue"
)

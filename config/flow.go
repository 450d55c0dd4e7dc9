package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/tool"
)

// Flow describes the inputs and outputs of a stage, and where its chain continues (spec: pipeline, "Pipeline stages").
// Its keys belong to the stage. If the stage has only one agent, they may be on that agent's entry instead.
type Flow struct {
	// OutputKey is the name of the stage's output, unique within the chain.
	OutputKey string `yaml:"output_key" default:"the stage's name"`
	// RequiredOutputFields are keys that the stage's result must have. The result is then a JSON object.
	RequiredOutputFields []string `yaml:"required_output_fields" default:"none"`
	// OutputSchema is a JSON schema of the stage's result, which is then a JSON object. It may refer only to itself.
	OutputSchema json.RawMessage `yaml:"output_schema" default:"none"`
	// RoutingRules say where the chain continues when the stage has succeeded. The first rule that matches applies.
	RoutingRules []RoutingRule `yaml:"routing_rules" default:"none"`
	// DefaultNext is where the chain continues if no rule matches: a stage, end, clarification or confirmation.
	DefaultNext string `yaml:"default_next" default:"the next stage in order"`
	// ErrorNext is where the chain continues if the stage fails.
	ErrorNext string `yaml:"error_next" default:"none: the chain fails"`
	// LoopTarget is where the chain continues if the stage asks for another pass and no rule matches.
	LoopTarget string `yaml:"loop_target" default:"none: the chain fails"`
	// OnApprove is where the chain continues when people agree, if routing_rules or default_next name confirmation: a
	// stage or end. Such a stage is a gate: without an answer the chain ends, regardless of on_expiry.
	OnApprove string `yaml:"on_approve" default:"the stage of confirmation_resume_stage, else the next one"`
	// ClarificationResumeStage is the stage that continues with the answer to this stage's question.
	ClarificationResumeStage string `yaml:"clarification_resume_stage" default:"that of interrupts, else this stage"`
	// ConfirmationResumeStage is the stage that continues when people have agreed to a question of this stage's agents.
	ConfirmationResumeStage string `yaml:"confirmation_resume_stage" default:"that of interrupts, else this stage"`
	// AgentReviewResumeStage is the stage that continues after people have reviewed the work of this stage's agent.
	AgentReviewResumeStage string `yaml:"agent_review_resume_stage" default:"that of interrupts, else this stage"`
	// Requires are stages that must have succeeded before this one starts. In a chain with requires or after, a stage
	// starts as soon as it can, in parallel with others, and jumps only go back.
	Requires []string `yaml:"requires" default:"none"`
	// After are stages that must have ended before this one starts, if they run at all.
	After []string `yaml:"after" default:"none"`
	// Join says how many of the stages in requires must have succeeded.
	Join string `yaml:"join" enum:"join" default:"all"`
	// PreProcess is a function that the workers' program has registered in Go. It runs before the stage's agents, which
	// are shown its output. See docs/reference/go-api.md.
	PreProcess string `yaml:"pre_process" default:"none"`
	// PostProcess is also a function registered in Go. It runs on the stage's output, may change it, and may fail the
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
	// Target is a stage, end, clarification or confirmation; required. A stage that is not further on begins another
	// pass.
	Target string `yaml:"target"`
}

// The ways to join a stage's dependencies.
const (
	JoinAll = "all"
	JoinAny = "any"
)

// flow returns the stage's flow, wherever it is written. The map gives the level of each key: level 1 keys are on the
// entry of its only agent.
func (s *Stage) flow() (Flow, map[string]int) {
	if len(s.Agents) != 1 {
		return strict.Inherit(s.Flow)
	}
	return strict.Inherit(s.Flow, s.Agents[0].Flow)
}

// flowPath returns the path at which a key of the stage's flow is written.
func (s *Stage) flowPath(p path, key string) path {
	if _, from := s.flow(); from[key] == 1 {
		p = p.Key("agents").Index(0)
	}
	return p.Key(key)
}

// contract returns the requirements for the stage's output text.
func (f Flow) contract() plan.Contract {
	c := plan.Contract{Required: notEmpty(f.RequiredOutputFields)}
	if isSet(f.OutputSchema) {
		c.Schema = f.OutputSchema
	}
	c.JSON = c.Asks()
	return c
}

// isSet reports whether a value is present and not null.
func isSet(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// routing returns the stage's routing in a chain with these interrupts. A confirmation after a success is a gate,
// unless the configuration names a stage that continues with every answer.
func (f Flow) routing(chain Interrupts) plan.Routing {
	out := plan.Routing{
		DefaultNext: f.DefaultNext, ErrorNext: f.ErrorNext, LoopTarget: f.LoopTarget,
		Requires: notEmpty(f.Requires), After: notEmpty(f.After), JoinAny: f.Join == JoinAny,
	}
	for _, r := range f.RoutingRules {
		out.Rules = append(out.Rules, plan.Rule(r))
	}
	for key, name := range f.resumeStages() {
		if name != "" {
			if out.Resume == nil {
				out.Resume = map[string]string{}
			}
			out.Resume[strings.TrimSuffix(key, "_resume_stage")] = name
		}
	}
	out.OnApprove = f.OnApprove
	if out.OnApprove == "" && f.ConfirmationResumeStage+chain.ConfirmationResumeStage == "" && out.Leads(plan.TargetConfirmation) {
		out.OnApprove = plan.TargetNext
	}
	return out
}

// routing returns the stage's routing, including its review.
func (s *Stage) routing(chain Interrupts) plan.Routing {
	f, _ := s.flow()
	out := f.routing(chain)
	out.Review = s.AgentReview.plan(cmp.Or(f.AgentReviewResumeStage, chain.AgentReviewResumeStage))
	return out
}

// resumeStages returns the stage's own resume stages, by the keys of Interrupts.
func (f Flow) resumeStages() map[string]string {
	return Interrupts{
		ClarificationResumeStage: f.ClarificationResumeStage, ConfirmationResumeStage: f.ConfirmationResumeStage,
		AgentReviewResumeStage: f.AgentReviewResumeStage,
	}.resumeStages()
}

func (f Flow) hooks() plan.Hooks {
	return plan.Hooks{PreProcess: f.PreProcess, PostProcess: f.PostProcess}
}

// validateFlow checks the stage's own keys. The chain checks names of other stages.
func (s *Stage) validateFlow(p path, v *validator) {
	s.validateFlowPlaces(p, v)
	f, _ := s.flow()
	fields := s.flowPath(p, "required_output_fields")
	for i, name := range f.RequiredOutputFields {
		if name == "" {
			v.Errorf(fields.Index(i), "the name of a field is required")
		}
	}
	f.validateSchema(s.flowPath(p, "output_schema"), v)
	for i, r := range f.RoutingRules {
		r.check(s.flowPath(p, "routing_rules").Index(i), v)
	}
	v.hook(s.flowPath(p, "pre_process"), f.PreProcess)
	v.hook(s.flowPath(p, "post_process"), f.PostProcess)
	if f.Join != "" && len(f.Requires) == 0 {
		v.Errorf(s.flowPath(p, "join"), "join is for a stage with requires, and this one has none")
	}
}

// validateFlowPlaces finds keys that are not allowed on the entries of agents.
func (s *Stage) validateFlowPlaces(p path, v *validator) {
	_, onStage := strict.Inherit(s.Flow)
	for i, a := range s.Agents {
		_, onAgent := strict.Inherit(a.Flow)
		for key := range onAgent {
			at := p.Key("agents").Index(i).Key(key)
			if _, both := onStage[key]; both {
				v.Errorf(at, "%s is written on the stage as well: only one of them may be there", key)
			} else if len(s.Agents) > 1 {
				v.Errorf(at, "in a stage with several agents %s is written on the stage", key)
			}
		}
	}
}

func (f Flow) validateSchema(p path, v *validator) {
	switch {
	case !isSet(f.OutputSchema):
	case !bytes.HasPrefix(bytes.TrimSpace(f.OutputSchema), []byte("{")):
		v.Errorf(p, "a JSON schema is a mapping")
	default:
		if err := tool.CheckSchema(f.OutputSchema); err != nil {
			v.Errorf(p, "not a JSON schema: %v", err)
		}
	}
}

func (r RoutingRule) check(p path, v *validator) {
	if r.Condition == "" {
		v.Errorf(p.Key("condition"), "a condition is required: a key of the stage's result")
	}
	switch {
	case len(r.Value) == 0:
		v.Errorf(p.Key("value"), "a value is required; null is one")
	case !json.Valid(r.Value):
		v.Errorf(p.Key("value"), "not JSON, which it must be in Go")
	case len(r.Value) > plan.MaxRuleValue:
		v.Errorf(p.Key("value"), "a value has at most %d bytes as JSON, this one has %d", plan.MaxRuleValue, len(r.Value))
	}
	if r.Target == "" {
		v.Errorf(p.Key("target"), "a target is required")
	}
}

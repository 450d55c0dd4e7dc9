package configuration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
	"github.com/inquest-dev/inquest/internal/tool"
)

// stageFlow returns the stage's flow, wherever it is written. The map gives the level of each key: level 1 keys are on the
// entry of its only agent.
func stageFlow(s *config.Stage) (config.Flow, map[string]int) {
	if len(s.Agents) != 1 {
		return strict.Inherit(s.Flow)
	}
	return strict.Inherit(s.Flow, s.Agents[0].Flow)
}

// flowPath returns the path at which a key of the stage's flow is written.
func flowPath(s *config.Stage, p path, key string) path {
	if _, from := stageFlow(s); from[key] == 1 {
		p = p.Key("agents").Index(0)
	}
	return p.Key(key)
}

// flowContract returns the requirements for the stage's output text.
func flowContract(f config.Flow) plan.Contract {
	c := plan.Contract{Required: notEmpty(f.RequiredOutputFields)}
	if isSet(f.OutputSchema) {
		c.Schema = f.OutputSchema
	}
	c.JSON = c.Asks()
	return c
}

// isSet reports whether a value is present and not null.
func isSet(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// flowRouting returns the stage's routing in a chain with these interrupts. A confirmation after a success is a gate,
// unless the configuration names a stage that continues with every answer.
func flowRouting(f config.Flow, chain config.Interrupts) plan.Routing {
	out := plan.Routing{
		DefaultNext: f.DefaultNext, ErrorNext: f.ErrorNext, LoopTarget: f.LoopTarget,
		Requires: notEmpty(f.Requires), After: notEmpty(f.After), JoinAny: f.Join == config.JoinAny,
	}
	for _, r := range f.RoutingRules {
		out.Rules = append(out.Rules, plan.Rule(r))
	}
	// any order: all keys end in _resume_stage, so they stay distinct
	for key, name := range flowResumeStages(f) {
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

// stageRouting returns the stage's routing, including its review.
func stageRouting(s *config.Stage, chain config.Interrupts) plan.Routing {
	f, _ := stageFlow(s)
	out := flowRouting(f, chain)
	out.Review = plannedAgentReview(s.AgentReview, cmp.Or(f.AgentReviewResumeStage, chain.AgentReviewResumeStage))
	return out
}

// flowResumeStages returns the stage's own resume stages, by the keys of Interrupts.
func flowResumeStages(f config.Flow) map[string]string {
	return interruptResumeStages(config.Interrupts{
		ClarificationResumeStage: f.ClarificationResumeStage, ConfirmationResumeStage: f.ConfirmationResumeStage,
		AgentReviewResumeStage: f.AgentReviewResumeStage,
	})
}

func flowHooks(f config.Flow) plan.Hooks {
	return plan.Hooks{PreProcess: f.PreProcess, PostProcess: f.PostProcess}
}

// validateFlow checks the stage's own keys. The chain checks names of other stages.
func validateFlow(s *config.Stage, p path, v *validator) {
	validateFlowPlaces(s, p, v)
	f, _ := stageFlow(s)
	fields := flowPath(s, p, "required_output_fields")
	for i, name := range f.RequiredOutputFields {
		if name == "" {
			v.Errorf(fields.Index(i), "must be the name of a field, not empty")
		}
	}
	validateSchema(f, flowPath(s, p, "output_schema"), v)
	for i, r := range f.RoutingRules {
		checkRoutingRule(r, flowPath(s, p, "routing_rules").Index(i), v)
	}
	v.hook(flowPath(s, p, "pre_process"), f.PreProcess)
	v.hook(flowPath(s, p, "post_process"), f.PostProcess)
	if f.Join != "" && len(f.Requires) == 0 {
		v.Errorf(flowPath(s, p, "join"), "join works only on a stage that has the key \"requires\"")
	}
}

// validateFlowPlaces finds keys that are not allowed on the entries of agents.
func validateFlowPlaces(s *config.Stage, p path, v *validator) {
	_, onStage := strict.Inherit(s.Flow)
	for i, a := range s.Agents {
		_, onAgent := strict.Inherit(a.Flow)
		for key := range onAgent {
			at := p.Key("agents").Index(i).Key(key)
			if _, both := onStage[key]; both {
				v.Errorf(at, "%s is also set on the stage: set it in one place", key)
			} else if len(s.Agents) > 1 {
				v.Errorf(at, "in a stage with several agents, set %s on the stage", key)
			}
		}
	}
}

func validateSchema(f config.Flow, p path, v *validator) {
	switch {
	case !isSet(f.OutputSchema):
	case !bytes.HasPrefix(bytes.TrimSpace(f.OutputSchema), []byte("{")):
		v.Errorf(p, "a JSON schema must be a mapping")
	default:
		if err := tool.CheckSchema(f.OutputSchema); err != nil {
			v.Errorf(p, "not a JSON schema: %v", err)
		}
	}
}

func checkRoutingRule(r config.RoutingRule, p path, v *validator) {
	if r.Condition == "" {
		v.Errorf(p.Key("condition"), "condition is required: a key of the stage's result")
	}
	switch {
	case len(r.Value) == 0:
		v.Errorf(p.Key("value"), "value is required; it can be null")
	case !json.Valid(r.Value):
		v.Errorf(p.Key("value"), "must be JSON")
	case len(r.Value) > plan.MaxRuleValue:
		v.Errorf(p.Key("value"), "a value can have at most %d bytes as JSON, got %d", plan.MaxRuleValue, len(r.Value))
	}
	if r.Target == "" {
		v.Errorf(p.Key("target"), "a target is required")
	}
}

// completeInterrupts fills in the defaults.
func completeInterrupts(i config.Interrupts) config.Interrupts {
	standard := config.Interrupts{
		ClarificationTimeout: plan.Duration(24 * time.Hour), ConfirmationTimeout: plan.Duration(time.Hour),
		AgentReviewTimeout: plan.Duration(30 * time.Minute), OnExpiry: config.OnExpiryEnd,
	}
	all, _ := strict.Inherit(standard, i)
	return all
}

func plannedInterrupts(i config.Interrupts) plan.Interrupts {
	rule := func(resume string, expires plan.Duration) plan.Interrupt {
		return plan.Interrupt{Resume: resume, Expires: expires, Continue: i.OnExpiry == config.OnExpiryContinue}
	}
	return plan.Interrupts{
		Clarification: rule(i.ClarificationResumeStage, i.ClarificationTimeout),
		Confirmation:  rule(i.ConfirmationResumeStage, i.ConfirmationTimeout),
		Review:        rule(i.AgentReviewResumeStage, i.AgentReviewTimeout),
	}
}

func validateInterrupts(i config.Interrupts, p path, v *validator, c chart) {
	for key, name := range interruptResumeStages(i) {
		if name != "" {
			v.stage(p.Key(key), name, c)
		}
	}
}

// interruptResumeStages returns the stages that continue with answers, by key. An empty string means the stage that asked.
func interruptResumeStages(i config.Interrupts) map[string]string {
	return map[string]string{
		"clarification_resume_stage": i.ClarificationResumeStage, "confirmation_resume_stage": i.ConfirmationResumeStage,
		"agent_review_resume_stage": i.AgentReviewResumeStage,
	}
}

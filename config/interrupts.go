package config

import (
	"time"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// Interrupts say how a chain waits for answers from people, and where it continues (spec: pipeline, "Interrupts").
type Interrupts struct {
	// ClarificationResumeStage is the stage that continues with the answer to a question.
	ClarificationResumeStage string `yaml:"clarification_resume_stage" default:"the stage that asked"`
	// ConfirmationResumeStage is the stage that continues when people have agreed. If they disagree, the investigation
	// ends.
	ConfirmationResumeStage string `yaml:"confirmation_resume_stage" default:"the stage that asked"`
	// AgentReviewResumeStage is the stage that continues after people have reviewed the work of an agent.
	AgentReviewResumeStage string `yaml:"agent_review_resume_stage" default:"the stage that asked"`
	// ClarificationTimeout is how long to wait for the answer to a question.
	ClarificationTimeout plan.Duration `yaml:"clarification_timeout" default:"24h"`
	// ConfirmationTimeout is how long to wait for a confirmation.
	ConfirmationTimeout plan.Duration `yaml:"confirmation_timeout" default:"1h"`
	// AgentReviewTimeout is how long to wait for a review.
	AgentReviewTimeout plan.Duration `yaml:"agent_review_timeout" default:"30m"`
	// OnExpiry says what happens if nobody answers in time: the investigation ends, or continues without an answer. At
	// a gate it ends.
	OnExpiry string `yaml:"on_expiry" enum:"on expiry" default:"end"`
}

// The values of Interrupts.OnExpiry, for questions that nobody answers in time.
const (
	OnExpiryEnd      = "end"
	OnExpiryContinue = "continue"
)

// complete fills in the defaults.
func (i Interrupts) complete() Interrupts {
	standard := Interrupts{
		ClarificationTimeout: plan.Duration(24 * time.Hour), ConfirmationTimeout: plan.Duration(time.Hour),
		AgentReviewTimeout: plan.Duration(30 * time.Minute), OnExpiry: OnExpiryEnd,
	}
	all, _ := strict.Inherit(standard, i)
	return all
}

func (i Interrupts) plan() plan.Interrupts {
	rule := func(resume string, expires plan.Duration) plan.Interrupt {
		return plan.Interrupt{Resume: resume, Expires: expires, Continue: i.OnExpiry == OnExpiryContinue}
	}
	return plan.Interrupts{
		Clarification: rule(i.ClarificationResumeStage, i.ClarificationTimeout),
		Confirmation:  rule(i.ConfirmationResumeStage, i.ConfirmationTimeout),
		Review:        rule(i.AgentReviewResumeStage, i.AgentReviewTimeout),
	}
}

func (i Interrupts) validate(p path, v *validator, c chart) {
	for key, name := range i.resumeStages() {
		if name != "" {
			v.stage(p.Key(key), name, c)
		}
	}
}

// resumeStages returns the stages that continue with answers, by key. An empty string means the stage that asked.
func (i Interrupts) resumeStages() map[string]string {
	return map[string]string{
		"clarification_resume_stage": i.ClarificationResumeStage, "confirmation_resume_stage": i.ConfirmationResumeStage,
		"agent_review_resume_stage": i.AgentReviewResumeStage,
	}
}

package config

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
)

// thinks checks the form of a setting.
func (v *validator) thinks(p path, thinking string) {
	if _, ok := parseThinking(thinking); !ok {
		v.Errorf(p, "must be off, on, adaptive, or a number of tokens, got %q", thinking)
	}
}

// parseThinking parses a setting: a mode, or the budget of "on".
func parseThinking(text string) (t agent.Thinking, ok bool) {
	switch mode := agent.ThinkingMode(text); mode {
	case "", agent.ThinkingOff, agent.ThinkingOn, agent.ThinkingAdaptive:
		return agent.Thinking{Mode: mode}, true
	}
	budget, err := strconv.Atoi(text)
	return agent.Thinking{Mode: agent.ThinkingOn, Budget: budget}, err == nil && budget > 0
}

// thinking returns how much a provider's model thinks for an agent, or the reason why it cannot think as configured.
func (c *Config) thinking(w work, at choice) (agent.Thinking, string) {
	entry, ok := c.LLMProviders[at.provider]
	if !ok {
		return agent.Thinking{}, "" // reported already
	}
	return thinkingBy(w, entry, entry.plan(at.provider, at.backend, NativeTools{}))
}

// thinkingBy merges the agent's setting over that of its provider's entry. If the model does not support the result, it
// returns only the reason.
func thinkingBy(w work, entry *Provider, p plan.Provider) (agent.Thinking, string) {
	want, _ := parseThinking(cmp.Or(w.Thinking, entry.Thinking))
	if want.Effort = w.Effort; want.Effort == "" && (w.Thinking == "" || want.Mode != agent.ThinkingOff) {
		want.Effort = entry.ReasoningEffort
	}
	problem := llm.ThinkingProblem(p.Type, p.Model, want, value(w.MaxTokens))
	switch {
	case want != (agent.Thinking{}) && p.Driver == DriverGenerativeAI:
		problem = fmt.Sprintf("driver %s has no thinking: use %s", DriverGenerativeAI, DriverGenAI)
	case problem == "":
		return want, ""
	}
	return agent.Thinking{}, fmt.Sprintf("thinking of agent %q at provider %q: %s", w.definition, p.Name, problem)
}

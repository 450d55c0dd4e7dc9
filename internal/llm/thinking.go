package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/models"
)

// ThinkingProblem returns the part of an agent's thinking settings that a model does not support, according to its
// name. It is empty if the model supports them or is unknown. protocol is the provider's type in plans.
func ThinkingProblem(protocol, model string, want agent.Thinking, maxTokens int) string {
	if want == (agent.Thinking{}) {
		return ""
	}
	switch protocol {
	case "anthropic":
		return claudeThinkingProblem(model, want, maxTokens)
	case "google":
		return geminiThinkingProblem(model, want)
	case "openai", "azure":
		return openAIThinkingProblem(model, want)
	}
	return familyProblem(model, models.FamilyOf(protocol, model), want)
}

// familyProblem returns the problem of a model with the settings, by what its family accepts.
func familyProblem(model string, family models.Family, want agent.Thinking) string {
	off, budget := want.Mode == agent.ThinkingOff, family.Budget
	switch {
	case !family.Known(), family.Silent && off && want.Effort == "":
		return ""
	case family.Silent:
		return model + " does not support thinking"
	case off && !family.Off:
		return model + " always thinks: thinking cannot be turned off; for less thinking, set a low reasoning_effort"
	case want.Budget > 0 && budget.Most == 0:
		return model + " does not support a thinking budget: use reasoning_effort"
	case want.Budget > 0 && (want.Budget < budget.Least || want.Budget > budget.Most):
		return fmt.Sprintf("a thinking budget for %s must be between %d and %d tokens", model, budget.Least, budget.Most)
	}
	return effortProblem(model, want.Effort, family.Efforts)
}

func claudeThinkingProblem(model string, want agent.Thinking, maxTokens int) string {
	claude := ParseClaude(model)
	family := claude.family()
	off := want.Mode == agent.ThinkingOff
	switch {
	case !family.Thinks, off && !family.Off:
		return familyProblem(model, family, want)
	case off && claude.Version >= 500 && slices.Contains([]string{"xhigh", "max"}, want.Effort):
		return fmt.Sprintf("%s can turn thinking off only with a reasoning_effort of high or lower", model)
	case want.Mode == agent.ThinkingAdaptive && !claude.Adapts():
		return model + " does not support adaptive thinking: use thinking: on, or a number of tokens"
	case want.Budget > 0 && !claude.TakesBudget():
		return fmt.Sprintf("%s does not support a thinking budget: use thinking: adaptive, and reasoning_effort", model)
	case want.Budget > 0 && want.Budget < family.Budget.Least:
		return fmt.Sprintf("a thinking budget for %s must be at least %d tokens", model, family.Budget.Least)
	case want.Budget > family.Budget.Most:
		return fmt.Sprintf("the thinking budget of %d tokens leaves no room for the reply: %s can write %d tokens in all",
			want.Budget, model, family.Longest)
	case maxTokens > 0 && want.Budget >= maxTokens:
		return fmt.Sprintf("the thinking budget of %d tokens must be less than max_tokens (%d), which includes it", want.Budget, maxTokens)
	}
	return effortProblem(model, want.Effort, family.Efforts)
}

// effortProblem returns an error text if a model does not have a level.
func effortProblem(model, effort string, levels []string) string {
	switch {
	case effort == "" || slices.Contains(levels, effort):
		return ""
	case len(levels) == 0:
		return model + " does not support reasoning_effort"
	}
	return fmt.Sprintf("reasoning_effort for %s must be one of %s", model, strings.Join(levels, ", "))
}

func geminiThinkingProblem(model string, want agent.Thinking) string {
	family := gemini(model)
	if want.Budget > 0 && want.Effort != "" && family.Budget.Most > 0 {
		return model + " accepts a thinking budget or a reasoning_effort, not both"
	}
	return familyProblem(model, family, want)
}

// Other vendors' models with OpenAI's protocol are known only by name.
func openAIThinkingProblem(model string, want agent.Thinking) string {
	switch {
	case ParseClaude(model) != Claude{}:
		return model + " supports thinking only through Anthropic's own API: use a provider of type anthropic with llm_backend native"
	case want.Budget > 0:
		return "this llm_backend does not support thinking budgets: use reasoning_effort"
	case gemini(model).Known():
		return geminiThinkingProblem(model, want)
	}
	return familyProblem(model, openAI(model), want)
}

// OpenAIEffort returns the effort to request from a model. Empty means that the field is omitted. OpenAI models that
// cannot turn off thinking refuse "none", and models that do not think refuse the field.
func OpenAIEffort(model string, want agent.Thinking) string {
	switch {
	case want.Mode != agent.ThinkingOff:
		return want.Effort
	case OpenAIsOwn(model) && !openAI(model).Off:
		return ""
	}
	return "none"
}

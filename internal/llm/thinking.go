package llm

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// ThinkingProblem returns the part of an agent's thinking settings that a model does not support, according to its
// name. It is empty if the model supports them or is unknown. protocol is "anthropic", "google", "openai" or "azure".
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
	return ""
}

// minClaudeBudget is the smallest budget that the API accepts.
const minClaudeBudget = 1024

func claudeThinkingProblem(model string, want agent.Thinking, maxTokens int) string {
	claude, off := ParseClaude(model), want.Mode == agent.ThinkingOff
	switch {
	case claude == Claude{}:
		return ""
	case !claude.Thinks() && !(off && want.Effort == ""):
		return model + " does not think"
	case off && claude.AlwaysThinks():
		return model + " always thinks: thinking cannot be off; a low reasoning_effort makes it think less"
	case off && claude.Version >= 500 && slices.Contains([]string{"xhigh", "max"}, want.Effort):
		return fmt.Sprintf("thinking of %s can only be off with a reasoning_effort up to high", model)
	case want.Mode == agent.ThinkingAdaptive && !claude.Adapts():
		return model + " does not decide by itself how much it thinks: use thinking: on, or a number of tokens"
	case want.Budget > 0 && !claude.TakesBudget():
		return fmt.Sprintf("%s takes no thinking budget: use thinking: adaptive, and reasoning_effort", model)
	case want.Budget > 0 && want.Budget < minClaudeBudget:
		return fmt.Sprintf("a thinking budget of %s is at least %d tokens", model, minClaudeBudget)
	case want.Budget > 0 && want.Budget > claude.Longest()-minClaudeBudget:
		return fmt.Sprintf("the thinking budget of %d tokens leaves no room: with the reply, %s has %d", want.Budget, model, claude.Longest())
	case maxTokens > 0 && want.Budget >= maxTokens:
		return fmt.Sprintf("the thinking budget of %d tokens is not below max_tokens, %d, which it is part of", want.Budget, maxTokens)
	}
	return effortProblem(model, want.Effort, claude.Efforts())
}

// effortProblem returns an error text if a model does not have a level.
func effortProblem(model, effort string, levels []string) string {
	switch {
	case effort == "" || slices.Contains(levels, effort):
		return ""
	case len(levels) == 0:
		return model + " takes no reasoning_effort"
	}
	return fmt.Sprintf("reasoning_effort of %s must be one of %s", model, strings.Join(levels, ", "))
}

var (
	geminiThinkers = regexp.MustCompile(`^(?:models/)?gemini-(?:2\.5|[3-9]|\d\d|flash|pro)`)
	geminiSilent   = regexp.MustCompile(`^(?:models/)?gemini-(?:1\.|2\.0)`)
	// GeminiBudgets are the models whose thinking has a budget; later ones have levels.
	geminiBudgets = regexp.MustCompile(`^(?:models/)?gemini-2\.5`)
)

// GeminiThinks reports whether a Gemini model thinks. Other models refuse thinking parameters.
func GeminiThinks(model string) bool { return geminiThinkers.MatchString(model) }

// GeminiTakesBudget reports whether a model's thinking has a budget; later models have levels.
func GeminiTakesBudget(model string) bool { return geminiBudgets.MatchString(model) }

// geminiBudget returns the smallest and largest budget of a Gemini 2.5 model, in tokens.
// https://ai.google.dev/gemini-api/docs/thinking#set-budget (read 2026-11-23)
func geminiBudget(model string) (least, most int) {
	switch {
	case strings.Contains(model, "-pro"):
		return 128, 32_768
	case strings.Contains(model, "-lite"):
		return 512, 24_576
	}
	return 1, 24_576
}

// geminiTwoLevels matches the first Pro of Gemini 3; later ones have a medium level.
var geminiTwoLevels = regexp.MustCompile(`^(?:models/)?gemini-3-pro`)

// https://ai.google.dev/gemini-api/docs/thinking (2026-11-22)
func geminiThinkingProblem(model string, want agent.Thinking) string {
	off, budget, pro := want.Mode == agent.ThinkingOff, GeminiTakesBudget(model), strings.Contains(model, "-pro")
	levels := []string{"minimal", "low", "medium", "high"}
	switch {
	case geminiTwoLevels.MatchString(model):
		levels = []string{"low", "high"}
	case budget || pro:
		levels = levels[1:]
	}
	least, most := geminiBudget(model)
	switch {
	case geminiSilent.MatchString(model) && !(off && want.Effort == ""):
		return model + " does not think"
	case !GeminiThinks(model):
		return ""
	case off && (!budget || pro):
		return model + " always thinks: thinking cannot be off; a low reasoning_effort makes it think less"
	case want.Budget > 0 && !budget:
		return model + " takes no thinking budget: use reasoning_effort"
	case want.Budget > 0 && want.Effort != "":
		return model + " takes a thinking budget or a reasoning_effort, not both"
	case want.Budget > 0 && (want.Budget < least || want.Budget > most):
		return fmt.Sprintf("a thinking budget of %s is between %d and %d tokens", model, least, most)
	}
	return effortProblem(model, want.Effort, levels)
}

var (
	openAISilent    = regexp.MustCompile(`^(?:.*/)?(?:gpt-(?:3|4)|chatgpt-4|gpt-\d[\d.]*-chat)`)
	openAIReasoners = regexp.MustCompile(`^(?:.*/)?(?:o\d|gpt-(\d+)(?:\.(\d+))?)`)
)

// OpenAI's levels: https://developers.openai.com/api/docs/guides/reasoning and the models' pages (2026-11-22). Other
// vendors' models with the same protocol are known only by name.
func openAIThinkingProblem(model string, want agent.Thinking) string {
	off := want.Mode == agent.ThinkingOff
	switch {
	case ParseClaude(model) != Claude{}:
		return model + " thinks by Anthropic's own API only: use llm_backend native"
	case want.Budget > 0:
		return "there are no thinking budgets by this llm_backend: use reasoning_effort"
	case openAISilent.MatchString(model) && !(off && want.Effort == ""):
		return model + " does not think"
	case geminiSilent.MatchString(model), GeminiThinks(model):
		return geminiThinkingProblem(model, want)
	}
	levels := openAIEfforts(model)
	switch {
	case levels == nil:
		return ""
	case off && !openAISilent.MatchString(model) && !slices.Contains(levels, "none"):
		return model + " always thinks: thinking cannot be off; a low reasoning_effort makes it think less"
	}
	return effortProblem(model, want.Effort, levels)
}

// OpenAIEffort returns the effort to request from a model. Empty means that the field is omitted. OpenAI models that
// cannot turn off thinking refuse "none", and models that do not think refuse the field.
func OpenAIEffort(model string, want agent.Thinking) string {
	switch {
	case want.Mode != agent.ThinkingOff:
		return want.Effort
	case OpenAIsOwn(model) && !slices.Contains(openAIEfforts(model), "none"):
		return ""
	}
	return "none"
}

// openAIEfforts returns the levels that an OpenAI model accepts, or nil if unknown. The levels of Pro come from the API's
// refusals of other levels: https://github.com/pydantic/pydantic-ai, tests (read 2026-11-23).
func openAIEfforts(model string) []string {
	m := openAIReasoners.FindStringSubmatch(model)
	levels := []string{"none", "low", "medium", "high", "xhigh", "max"}
	switch {
	case m == nil || openAISilent.MatchString(model):
		return nil
	case m[1] == "": // the o-series
		return levels[1:4]
	case m[1] == "5" && m[2] == "" && strings.Contains(model, "-pro"):
		return []string{"high"}
	case strings.Contains(model, "-pro"):
		return []string{"medium", "high", "xhigh"}
	case m[1] == "5" && m[2] == "" && strings.Contains(model, "-codex"):
		return levels[1:4]
	case m[1] != "5" || m[2] >= "6": // one digit: there is no 5.10
		return levels
	case m[2] == "":
		return []string{"minimal", "low", "medium", "high"}
	case m[2] == "1" && !strings.Contains(model, "codex-max"):
		return levels[:4]
	}
	return levels[:5]
}

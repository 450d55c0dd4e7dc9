package llm

import (
	"regexp"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/models"
)

// The features of models are derived from their names, which also works behind a proxy ("openai/gpt-5"). Nothing is
// known about the other models of compatible servers.
var openAIsOwn = regexp.MustCompile(`^(?:.*/)?(?:gpt-\d|chatgpt-|o\d)`)

// openAI returns what a model accepts that OpenAI or a proxy serves.
func openAI(model string) models.Family {
	return models.FamilyOf("openai", model[strings.LastIndex(model, "/")+1:])
}

func gemini(model string) models.Family {
	return models.FamilyOf("google", strings.TrimPrefix(model, "models/"))
}

// OpenAIsOwn reports whether a model is one of OpenAI's, which works as documented.
func OpenAIsOwn(model string) bool { return openAIsOwn.MatchString(model) }

// OpenAIReasons reports whether an OpenAI model thinks before it answers. ChatGPT's models (gpt-5-chat-latest) have no effort and no
// encrypted thinking: https://platform.openai.com/docs/models/gpt-5-chat-latest
func OpenAIReasons(model string) bool { return openAI(model).Thinks }

// OpenAINewer reports whether an OpenAI model requires max_completion_tokens and no temperature. go-openai refuses to send the others.
// Compatible servers support only max_tokens, or silently ignore max_completion_tokens, so neither field works for all.
func OpenAINewer(model string) bool { return openAI(model).NoTemperature }

// OpenAIChargesWrites reports whether an OpenAI model charges more for input that is written to the cache.
func OpenAIChargesWrites(model string) bool { return openAI(model).PaidCacheWrites }

// OpenAIKeepsSchema reports whether an OpenAI model can follow a JSON schema.
func OpenAIKeepsSchema(model string) bool { return openAI(model).Schema }

// GeminiKeepsSchema reports whether a Gemini model can follow a JSON schema.
func GeminiKeepsSchema(model string) bool { return gemini(model).Schema }

// GeminiThinks reports whether a Gemini model thinks. Other models refuse thinking parameters.
func GeminiThinks(model string) bool { return gemini(model).Thinks }

// GeminiTakesBudget reports whether a model's thinking has a budget; later models have levels.
func GeminiTakesBudget(model string) bool { return gemini(model).Budget.Most > 0 }

// KeepsSchema reports whether a model follows the JSON schema of its request by its server's mechanism, and not only by
// the prompt.
func KeepsSchema(way agent.Structured, req Request, besideTools bool) bool {
	switch way {
	case agent.StructuredResponseFormat:
		return OpenAIKeepsSchema(req.Model)
	case agent.StructuredResponseSchema:
		return GeminiKeepsSchema(req.Model) && (!besideTools || agent.MixesTools(req.Model))
	case agent.StructuredOutputFormat:
		return ClaudeKeepsSchema(req.Model, req.Schema) || !besideTools && ClaudeFills(req)
	case agent.StructuredForm:
		return !besideTools && ClaudeFills(req)
	}
	return false
}

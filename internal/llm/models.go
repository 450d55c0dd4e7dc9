package llm

import (
	"regexp"

	"github.com/inquest-dev/inquest/internal/agent"
)

// What models can do is known by their names, which say it behind a proxy as well
// ("openai/gpt-5"). Compatible servers have models of their own: of those nothing is known.
var (
	openAIsOwn = regexp.MustCompile(`^(?:.*/)?(?:gpt-\d|chatgpt-|o\d)`)
	// reasoners are the o-series and gpt-5 and later. They refuse max_tokens and any temperature,
	// and go-openai refuses to send either. Compatible servers know only max_tokens, or ignore
	// max_completion_tokens in silence, so neither of the two fields is right for all.
	reasoners = regexp.MustCompile(`^(?:.*/)?(?:o\d|gpt-(?:[5-9]|[12]\d))`)
	// writers are those that OpenAI charges for what is written into its cache.
	// https://developers.openai.com/api/docs/guides/prompt-caching (read 2026-11-23)
	writers = regexp.MustCompile(`^(?:.*/)?gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|[12]\d)`)
	// chats are those of ChatGPT among them (gpt-5-chat-latest), which have no effort and no
	// encrypted thoughts. https://platform.openai.com/docs/models/gpt-5-chat-latest
	chats = regexp.MustCompile(`^(?:.*/)?gpt-\d[\d.]*-chat`)
	// schematic are the models that keep to a JSON schema. Compatible servers may refuse one, or
	// take it for nothing, so they are asked for a JSON object, and the prompt has the schema.
	// https://platform.openai.com/docs/guides/structured-outputs
	schematic = regexp.MustCompile(
		`^(?:.*/)?(?:gpt-4o(?:-mini)?(?:$|-2024-(?:0[78]|1)|-2025)|gpt-4\.1|gpt-(?:[5-9]|[12]\d)|o1(?:$|-20)|o[3-9])`)
	geminiSchematic = regexp.MustCompile(`^(?:models/)?gemini-(?:2\.5|[3-9]|\d\d|flash|pro)`)
)

// OpenAIsOwn reports whether a model is one of OpenAI's, which does what its reference says.
func OpenAIsOwn(model string) bool { return openAIsOwn.MatchString(model) }

// OpenAIReasons reports whether a model of OpenAI's thinks before it answers.
func OpenAIReasons(model string) bool { return OpenAINewer(model) && !chats.MatchString(model) }

// OpenAINewer reports whether a model of OpenAI's wants max_completion_tokens and no temperature.
func OpenAINewer(model string) bool { return reasoners.MatchString(model) }

// OpenAIChargesWrites reports whether what a model of OpenAI's writes into the cache costs more than other input.
func OpenAIChargesWrites(model string) bool { return writers.MatchString(model) }

// OpenAIKeepsSchema reports whether a model of OpenAI's keeps to a JSON schema.
func OpenAIKeepsSchema(model string) bool { return schematic.MatchString(model) }

// GeminiKeepsSchema reports whether a model of Gemini's does; older ones know only another dialect.
func GeminiKeepsSchema(model string) bool { return geminiSchematic.MatchString(model) }

// KeepsSchema reports whether a model holds its final text to the JSON schema of its request, apart
// from the prompt, in the way that its server has.
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

package llm

import (
	"regexp"

	"github.com/inquest-dev/inquest/internal/agent"
)

// The features of models are derived from their names, which also works behind a proxy ("openai/gpt-5"). Nothing is
// known about the other models of compatible servers.
var (
	openAIsOwn = regexp.MustCompile(`^(?:.*/)?(?:gpt-\d|chatgpt-|o\d)`)
	// reasoners are the o-series, and gpt-5 and later. They refuse max_tokens and any temperature, and go-openai
	// refuses to send either. Compatible servers support only max_tokens, or silently ignore max_completion_tokens, so
	// neither field works for all.
	reasoners = regexp.MustCompile(`^(?:.*/)?(?:o\d|gpt-(?:[5-9]|[12]\d))`)
	// writers are the models for which OpenAI charges for writing to its cache.
	// https://developers.openai.com/api/docs/guides/prompt-caching (read 2026-11-23)
	writers = regexp.MustCompile(`^(?:.*/)?gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|[12]\d)`)
	// chats are ChatGPT's models among them (gpt-5-chat-latest), which have no effort and no encrypted thinking.
	// https://platform.openai.com/docs/models/gpt-5-chat-latest
	chats = regexp.MustCompile(`^(?:.*/)?gpt-\d[\d.]*-chat`)
	// schematic are the models that can follow a JSON schema. Compatible servers may refuse or ignore one, so they are
	// asked for a JSON object, and the schema is in the prompt.
	// https://platform.openai.com/docs/guides/structured-outputs
	schematic = regexp.MustCompile(
		`^(?:.*/)?(?:gpt-4o(?:-mini)?(?:$|-2024-(?:0[78]|1)|-2025)|gpt-4\.1|gpt-(?:[5-9]|[12]\d)|o1(?:$|-20)|o[3-9])`)
	geminiSchematic = regexp.MustCompile(`^(?:models/)?gemini-(?:2\.5|[3-9]|\d\d|flash|pro)`)
)

// OpenAIsOwn reports whether a model is one of OpenAI's, which works as documented.
func OpenAIsOwn(model string) bool { return openAIsOwn.MatchString(model) }

// OpenAIReasons reports whether an OpenAI model thinks before it answers.
func OpenAIReasons(model string) bool { return OpenAINewer(model) && !chats.MatchString(model) }

// OpenAINewer reports whether an OpenAI model requires max_completion_tokens and no temperature.
func OpenAINewer(model string) bool { return reasoners.MatchString(model) }

// OpenAIChargesWrites reports whether an OpenAI model charges more for input that is written to the cache.
func OpenAIChargesWrites(model string) bool { return writers.MatchString(model) }

// OpenAIKeepsSchema reports whether an OpenAI model can follow a JSON schema.
func OpenAIKeepsSchema(model string) bool { return schematic.MatchString(model) }

// GeminiKeepsSchema reports whether a Gemini model can follow a JSON schema. Older ones support only another dialect.
func GeminiKeepsSchema(model string) bool { return geminiSchematic.MatchString(model) }

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

package token

import "strings"

// DefaultWindow is the window of unknown models, in tokens.
const DefaultWindow = 128_000

// windows holds how many input tokens models accept, by prefixes of their names;
// the longest matching prefix applies. The numbers are from the providers' model
// pages: platform.openai.com/docs/models, ai.google.dev/gemini-api/docs/models,
// docs.anthropic.com/en/docs/about-claude/models.
var windows = map[string]int{
	"gpt-3.5-turbo": 16_385,
	"gpt-4":         8_192,
	"gpt-4-32k":     32_768,
	"gpt-4-turbo":   128_000,
	"gpt-4o":        128_000,
	"chatgpt-4o":    128_000,
	"gpt-4.1":       1_047_576,
	"gpt-4.5":       128_000,
	// The limit of 400,000 includes 128,000 for the reply: a longer input is
	// refused (openai.com/index/introducing-gpt-5-for-developers).
	"gpt-5":            272_000,
	"gpt-5-chat":       128_000,
	"gpt-6":            272_000, // they accept 1,050,000, but beyond 272,000 the whole prompt costs twice as much
	"gpt-oss":          131_072,
	"o1":               200_000,
	"o1-mini":          128_000,
	"o1-preview":       128_000,
	"o3":               200_000,
	"o4-mini":          200_000,
	"gemini-1.5-pro":   2_097_152,
	"gemini-1.5-flash": 1_048_576,
	"gemini-2":         1_048_576,
	"gemini-3":         1_048_576,
	"claude":           200_000,
}

// Window returns how many tokens a model accepts as input. Names may carry a
// provider ("openai/gpt-4o"), a version ("gpt-4o-2024-08-06") or a tag ("llama3:8b").
func Window(model string) int {
	name := baseName(model)
	for end := len(name); end > 0; end-- {
		if n, ok := windows[name[:end]]; ok {
			return n
		}
	}
	return DefaultWindow
}

// baseName returns a model's name in lower case, without a provider before it, the
// prefix of a fine-tuned model, or a tag after it.
func baseName(model string) string {
	name := strings.ToLower(model)
	name = name[strings.LastIndex(name, "/")+1:]
	name = strings.TrimPrefix(name, "ft:")
	name, _, _ = strings.Cut(name, ":")
	if _, own, bedrock := strings.Cut(name, "anthropic."); bedrock {
		name = own // eu.anthropic.claude-opus-4-8
	}
	return name
}

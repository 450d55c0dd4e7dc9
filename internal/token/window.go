package token

import (
	"cmp"
	"strings"

	"github.com/inquest-dev/inquest/internal/models"
)

// DefaultWindow is the window of unknown models, in tokens.
const DefaultWindow = 128_000

// Window returns how many tokens a model accepts as input. Names may carry a
// provider ("openai/gpt-4o"), a version ("gpt-4o-2024-08-06") or a tag ("llama3:8b").
func Window(model string) int {
	return cmp.Or(models.Window(baseName(model)), DefaultWindow)
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

//go:build geminilegacy

package app

import (
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/geminilegacy"
)

// legacyGemini is the driver generative-ai-go.
func legacyGemini(opts legacyOptions) (llm.Client, error) {
	return geminilegacy.New(geminilegacy.Options(opts))
}

//go:build !geminilegacy

package app

import (
	"fmt"

	"github.com/inquest-dev/inquest/internal/llm"
)

// legacyGemini says how to get the driver generative-ai-go: its SDK is past its
// end of life and weighs 3 MB, so it is linked only where it is asked for.
func legacyGemini(opts legacyOptions) (llm.Client, error) {
	return nil, fmt.Errorf("provider %s: driver generative-ai-go is not in this build: build with -tags geminilegacy, or leave driver out", opts.Name)
}

package configuration

import (
	"testing"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/plan"
)

// TestVertexPlan checks that on Vertex AI the model's name decides the driver, whatever the backend.
func TestVertexPlan(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]struct{ typ, driver string }{
		"gemini-3-pro": {config.ProviderGoogle, config.DriverGenAI}, "claude-sonnet-4-5@20250929": {config.ProviderAnthropic, ""},
	} {
		for _, backend := range []string{config.BackendLangChain, config.BackendNativeGemini} {
			entry := config.Provider{Type: config.ProviderVertex, Model: model}
			got := plannedProvider(&entry, "p", backend, config.NativeTools{})
			if got.Type != want.typ || got.Driver != want.driver || got.Vertex == (plan.Vertex{}) || got.APIKeyEnv != "" || !got.Vision {
				t.Errorf("%s by %s: %+v", model, backend, got)
			}
		}
	}
}

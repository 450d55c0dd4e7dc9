package config

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/plan"
)

// TestVertexPlan checks that on Vertex AI the model's name decides the driver, whatever the backend.
func TestVertexPlan(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]struct{ typ, driver string }{
		"gemini-3-pro": {ProviderGoogle, DriverGenAI}, "claude-sonnet-4-5@20250929": {ProviderAnthropic, ""},
	} {
		for _, backend := range []string{BackendLangChain, BackendNativeGemini} {
			entry := Provider{Type: ProviderVertex, Model: model}
			got := entry.plan("p", backend, NativeTools{})
			if got.Type != want.typ || got.Driver != want.driver || got.Vertex == (plan.Vertex{}) || got.APIKeyEnv != "" || !got.Vision {
				t.Errorf("%s by %s: %+v", model, backend, got)
			}
		}
	}
}

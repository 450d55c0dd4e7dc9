package app

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Every type of provider has a client. Google Cloud needs a project and no key.
func TestModels(t *testing.T) {
	t.Parallel()
	env := map[string]string{"PROJECT": "lab"}
	m := &Models{logger: slog.New(slog.DiscardHandler), clients: map[clientKey]llm.Client{}, env: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}}
	here, nowhere := plan.Vertex{ProjectEnv: "PROJECT"}, plan.Vertex{ProjectEnv: "NO_PROJECT"}
	for _, tt := range []struct {
		provider plan.Provider
		want     string
	}{
		{plan.Provider{Type: config.ProviderOpenAI, Model: "gpt-4o"}, "*openai.Client"},
		{plan.Provider{Type: config.ProviderAnthropic, Model: "claude-sonnet-5"}, "*anthropic.Client"},
		{plan.Provider{Type: config.ProviderAnthropic, Model: "claude-sonnet-5", Vertex: here}, "*anthropic.Client"},
		{plan.Provider{Type: config.ProviderAnthropic, Model: "claude-sonnet-5", Vertex: nowhere}, "vertexai client p: the project is missing"},
		{plan.Provider{Type: config.ProviderGoogle, Model: "gemini-3-pro"}, "*gemini.Client"},
		{plan.Provider{Type: config.ProviderGoogle, Model: "gemini-3-pro", Vertex: here}, "*gemini.Client"},
		{plan.Provider{Type: config.ProviderGoogle, Model: "gemini-3-pro", Vertex: nowhere}, "vertexai client p: the project is missing"},
	} {
		tt.provider.Name = "p"
		client, err := m.Client(tt.provider, plan.Timeouts{})
		got := fmt.Sprintf("%T", client)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s, %+v: %s, want %s", tt.provider.Type, tt.provider.Vertex, got, tt.want)
		}
	}
}

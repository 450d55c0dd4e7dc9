package app

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/auth"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/configuration"
	"github.com/inquest-dev/inquest/internal/kit/googlecloud"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/anthropic"
	"github.com/inquest-dev/inquest/internal/llm/gemini"
	"github.com/inquest-dev/inquest/internal/llm/geminilegacy"
	"github.com/inquest-dev/inquest/internal/llm/openai"
	"github.com/inquest-dev/inquest/internal/plan"
)

// Models creates the clients of providers and keeps them with their connections.
type Models struct {
	env    configuration.Env
	own    map[string]llm.Client // of the embedding program
	logger *slog.Logger

	mu      sync.Mutex
	clients map[clientKey]llm.Client
}

type clientKey struct {
	provider plan.Provider
	idle     time.Duration
}

// NewModels returns the clients of the providers, whose keys are in env. own replaces models by those of the embedding program.
func NewModels(env configuration.Env, own map[string]llm.Client, logger *slog.Logger) *Models {
	return &Models{env: env, own: own, logger: logger, clients: map[clientKey]llm.Client{}}
}

// Client returns the client of a provider, which is the same for all of the provider's models.
func (m *Models) Client(p plan.Provider, timeouts plan.Timeouts) (llm.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := clientKey{provider: p, idle: timeouts.StreamIdle.D()}
	if client, ok := m.clients[key]; ok {
		return client, nil
	}
	client, err := m.build(p, key.idle)
	if err != nil {
		return nil, err
	}
	m.clients[key] = client
	return client, nil
}

func (m *Models) build(p plan.Provider, idle time.Duration) (llm.Client, error) {
	name, _, _ := strings.Cut(p.Name, ":") // without ":model"
	for _, key := range []string{name, p.Type + ":" + p.Model, "*"} {
		if client, ok := m.own[key]; ok {
			return client, nil
		}
	}
	opts := llm.Options{Name: p.Name, BaseURL: p.BaseURL, APIKey: m.key(p), IdleTimeout: idle, Logger: m.logger, Dialect: p.Dialect()}
	switch p.Type {
	case config.ProviderOpenAI, config.ProviderAzure:
		if p.APIVersion != "" {
			return openai.NewAzure(opts, p.APIVersion)
		}
		if p.Responses {
			return openai.NewResponses(opts)
		}
		return openai.New(opts)
	case config.ProviderGoogle:
		if p.Driver == config.DriverGenerativeAI {
			return geminilegacy.New(opts)
		}
		if p.Vertex != (plan.Vertex{}) {
			at, err := m.vertex(opts.Name, p.Vertex)
			if err != nil {
				return nil, err
			}
			return gemini.NewVertex(opts, at)
		}
		return gemini.New(opts)
	case config.ProviderAnthropic:
		if p.Vertex != (plan.Vertex{}) {
			at, err := m.vertex(opts.Name, p.Vertex)
			if err != nil {
				return nil, err
			}
			return anthropic.NewVertex(opts, at)
		}
		return anthropic.New(opts)
	case config.ProviderScripted:
		return nil, fmt.Errorf("provider %s: unknown script %q; available in dev: sample", p.Name, p.Model)
	}
	return nil, fmt.Errorf("provider %s: type %q is not supported by this worker", p.Name, p.Type)
}

// vertex reads from the environment the settings that the plan leaves open.
func (m *Models) vertex(provider string, at plan.Vertex) (*googlecloud.Place, error) {
	from := func(text, name string) string {
		if text == "" {
			text, _ = m.env(name)
		}
		return text
	}
	var creds *auth.Credentials
	if file, _ := m.env(at.CredentialsEnv); file != "" {
		var err error
		if creds, err = googlecloud.CredentialsFile(file); err != nil {
			return nil, fmt.Errorf("provider %s: the credentials file in %s: %w", provider, at.CredentialsEnv, err)
		}
	}
	return googlecloud.At(from(at.Project, at.ProjectEnv), from(at.Location, at.LocationEnv), creds), nil
}

// key reads a provider's key from the environment for each call and keeps it nowhere.
func (m *Models) key(p plan.Provider) func() (string, error) {
	return func() (string, error) {
		if p.APIKeyEnv == "" {
			return "", nil
		}
		key, ok := m.env(p.APIKeyEnv)
		if !ok || key == "" {
			return "", fmt.Errorf("the environment variable %s, which should contain the key, is not set on this worker", p.APIKeyEnv)
		}
		return key, nil
	}
}

package app

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/auth"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/googlecloud"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/anthropic"
	"github.com/inquest-dev/inquest/internal/llm/gemini"
	"github.com/inquest-dev/inquest/internal/llm/geminilegacy"
	"github.com/inquest-dev/inquest/internal/llm/openai"
	"github.com/inquest-dev/inquest/internal/plan"
)

// models creates the clients of providers and keeps them with their connections.
type models struct {
	env    config.Env
	own    map[string]llm.Client // of the embedding program
	logger *slog.Logger

	mu      sync.Mutex
	clients map[clientKey]llm.Client
}

type clientKey struct {
	provider plan.Provider
	idle     time.Duration
}

func newModels(opts WorkerOptions) *models {
	return &models{env: opts.Config.LookupEnv, own: opts.Models, logger: opts.Logger, clients: map[clientKey]llm.Client{}}
}

// Client returns the client of a provider, which is the same for all of the provider's models.
func (m *models) Client(p plan.Provider, timeouts plan.Timeouts) (llm.Client, error) {
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

func (m *models) build(p plan.Provider, idle time.Duration) (llm.Client, error) {
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
		return nil, fmt.Errorf("provider %s: this program has no script named %q; dev has one: sample", p.Name, p.Model)
	}
	return nil, fmt.Errorf("provider %s: type %q is not supported by this worker", p.Name, p.Type)
}

// vertex reads settings from the environment that the plan leaves open.
func (m *models) vertex(provider string, at plan.Vertex) (*googlecloud.Place, error) {
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
			return nil, fmt.Errorf("provider %s: the credentials that %s names: %w", provider, at.CredentialsEnv, err)
		}
	}
	return googlecloud.At(from(at.Project, at.ProjectEnv), from(at.Location, at.LocationEnv), creds), nil
}

// key reads a provider's key from the environment for each call and keeps it nowhere.
func (m *models) key(p plan.Provider) func() (string, error) {
	return func() (string, error) {
		if p.APIKeyEnv == "" {
			return "", nil
		}
		key, ok := m.env(p.APIKeyEnv)
		if !ok || key == "" {
			return "", fmt.Errorf("the environment variable %s, which has the key, is not set on this worker", p.APIKeyEnv)
		}
		return key, nil
	}
}

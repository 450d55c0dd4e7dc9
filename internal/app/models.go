package app

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/llm/gemini"
	"github.com/inquest-dev/inquest/internal/llm/geminilegacy"
	"github.com/inquest-dev/inquest/internal/llm/openai"
	"github.com/inquest-dev/inquest/internal/plan"
)

// models makes the clients of providers and keeps them, with their connections.
type models struct {
	env    config.Env
	own    map[string]llm.Client // of the program
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

// Client returns the client of a provider, which is the same one for every
// model that the provider has.
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
	name, _, _ := strings.Cut(p.Name, ":") // of name:model
	for _, key := range []string{name, p.Type + ":" + p.Model, "*"} {
		if client, ok := m.own[key]; ok {
			return client, nil
		}
	}
	opts := llm.Options{Name: p.Name, BaseURL: p.BaseURL, APIKey: m.key(p), IdleTimeout: idle, Logger: m.logger}
	switch p.Type {
	case config.ProviderOpenAI, config.ProviderAzure:
		if p.APIVersion != "" {
			return openai.NewAzure(opts, p.APIVersion)
		}
		return openai.New(opts)
	case config.ProviderGoogle:
		if p.Driver == config.DriverGenerativeAI {
			return geminilegacy.New(opts)
		}
		return gemini.New(opts)
	case config.ProviderScripted:
		return nil, fmt.Errorf("provider %s: this program has no script named %q; dev has one: sample", p.Name, p.Model)
	}
	return nil, fmt.Errorf("provider %s: type %q is not supported by this worker", p.Name, p.Type)
}

// key reads a provider's key from the environment, at each call: it is kept nowhere.
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

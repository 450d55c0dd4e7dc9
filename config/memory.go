package config

// Memory makes agents learn from the scored investigations of their project, and use these learnings in later ones:
// docs/how-to/learn-from-incidents.md.
type Memory struct {
	// Enabled turns learning on.
	Enabled *bool `yaml:"enabled" default:"false"`
	// MaxInject is how many learnings a new investigation's prompts contain. Agents can look up more with their tools.
	MaxInject *int `yaml:"max_inject" min:"0" max:"50" default:"5"`
	// ReflectorMemoryLimit is how many earlier learnings the learning agent gets, to confirm or contradict them.
	ReflectorMemoryLimit *int `yaml:"reflector_memory_limit" min:"0" max:"100" default:"20"`
	// Embedding is a model that compares learnings by their meaning.
	Embedding Embedding `yaml:"embedding"`
}

// Embedding is a model that turns texts into vectors. If it is not available, learnings are searched by words only.
type Embedding struct {
	// Provider is the format of the model's API: google, or openai for all servers that are compatible with it.
	Provider string `yaml:"provider" enum:"embedding provider" default:"none"`
	// Model is the name of the model; required with a provider.
	Model string `yaml:"model"`
	// APIKeyEnv names the variable that holds the key.
	APIKeyEnv string `yaml:"api_key_env" default:"GOOGLE_API_KEY or OPENAI_API_KEY, by provider; none with a base_url"`
	// BaseURL is the address of the API.
	BaseURL string `yaml:"base_url" default:"Google's or OpenAI's"`
	// Dimensions is the length of the vectors.
	Dimensions *int `yaml:"dimensions" min:"1" max:"4096" default:"the model's"`
}

// The formats of APIs for embeddings.
const (
	EmbeddingGoogle = "google"
	EmbeddingOpenAI = "openai"
)

package config

import "github.com/inquest-dev/inquest/value"

// Provider is a model and the way to reach it.
type Provider struct {
	// Type selects the protocol and the endpoint; required. vertexai has Gemini and Claude models. Claude on Bedrock
	// has type anthropic, with the base_url https://bedrock-runtime.<region>.amazonaws.com/anthropic or
	// https://bedrock-mantle.<region>.api.aws/anthropic. selector has no models: its model is the name of a function of
	// the workers' program that chooses one (see docs/reference/go-api.md).
	Type string `yaml:"type" enum:"provider type"`
	// Model is the provider's name for the model, or for azure, the deployment; required.
	Model string `yaml:"model"`
	// APIKeyEnv names the environment variable that holds the key. With a custom base_url there is no key by default, because the
	// server may not need one. google and azure always need a key.
	APIKeyEnv string `yaml:"api_key_env" default:"the type's usual variable"`
	// BaseURL is the URL of the endpoint; for azure it is required, as the URL of the resource.
	BaseURL string `yaml:"base_url" default:"the type's usual URL"`
	// APIVersion is the version of Azure's API ("2024-10-21"); only with azure.
	APIVersion string `yaml:"api_version" default:"none, which requires a base_url that ends in /openai/v1"`
	// API selects one of OpenAI's APIs. With responses, models get their earlier reasoning back, but other vendors' servers
	// rarely support it. Only with openai, and with azure without api_version.
	API string `yaml:"api" enum:"api" default:"responses for OpenAI's own models that reason, else chat_completions"`

	Vertex `yaml:",inline"`
	// Driver is the Gemini SDK that the native backend uses; only with google.
	Driver string `yaml:"driver" enum:"driver" default:"genai"`
	// NativeTools are tools that the model may run by itself; only with google and native-gemini.
	NativeTools NativeTools `yaml:"native_tools" default:"none"`
	// Prices are the model's prices, which budgets.max_cost_usd needs. The built-in prices are the list prices of
	// well-known models as of 2026-11-22. They do not apply to a custom base_url.
	Prices Prices `yaml:"prices" default:"list prices, for known models"`
	// Thinking controls whether the model thinks before it answers: off, on, adaptive (the model decides when, and how
	// much), or the maximum number of thinking tokens. Settings that the model does not support are refused.
	Thinking string `yaml:"thinking" default:"the model's own"`
	// ReasoningEffort sets how much the model thinks, as one of the provider's values: none, minimal, low, medium, high, xhigh,
	// max.
	ReasoningEffort string `yaml:"reasoning_effort" enum:"reasoning effort" default:"the model's own"`
	// Vision is whether the model accepts images. If not, it gets a description of the images that tools return.
	Vision *bool `yaml:"vision" default:"by the model's name"`

	// QuickUnder is for fast models, such as small local ones. While 95 of 100 calls end within this time, agents without
	// sub-agents call the model inside the workflow task. This costs less in Temporal, whose UI
	// then shows a marker instead of an activity. At most 1s.
	QuickUnder value.Duration `yaml:"quick_under" default:"off: every call is an activity"`

	_ struct{} `foreign:"rate_limits" instead:"calls wait while a provider limits the rate; queue.worker_count limits a worker's calls"`
	_ struct{} `foreign:"max_tool_result_tokens" instead:"use summarization.size_threshold_tokens of the MCP servers"`
}

// Prices are the prices of a model.
type Prices struct {
	// Input is the price of the model's input.
	Input *float64 `yaml:"input" min:"0" unit:"US dollars per million tokens" default:"0"`
	// Output is the price of the model's replies, including thinking.
	Output *float64 `yaml:"output" min:"0" unit:"US dollars per million tokens" default:"0"`
	// CacheRead is the price of input that comes from the provider's cache.
	CacheRead *float64 `yaml:"cache_read" above:"0" unit:"US dollars per million tokens" default:"the price of input"`
	// CacheWrite is the price of input that is written to the cache.
	CacheWrite *float64 `yaml:"cache_write" above:"0" unit:"US dollars per million tokens" default:"the price of input"`
	// Reasoning is the price of thinking.
	Reasoning *float64 `yaml:"reasoning" above:"0" unit:"US dollars per million tokens" default:"the price of output"`
	// Image is the price of images in the input.
	Image *float64 `yaml:"image" above:"0" unit:"US dollars per million tokens" default:"the price of input"`
	// LongPrompts are the higher prices of calls with long prompts.
	LongPrompts LongPrompts `yaml:"long_prompts" default:"the usual prices"`
}

// LongPrompts raise the prices of a whole call if its prompt exceeds a number of tokens.
type LongPrompts struct {
	// Over is the longest prompt at the usual price, in tokens, including cached ones; required.
	Over *int `yaml:"over" min:"1" unit:"tokens"`
	// Input is the factor for all input prices above that length.
	Input *float64 `yaml:"input" above:"0" unit:"times" default:"1"`
	// Output is the factor for all output prices above that length.
	Output *float64 `yaml:"output" above:"0" unit:"times" default:"1"`
}

// The types of providers in plans.
const (
	ProviderOpenAI    = "openai"    // everything with OpenAI's protocol
	ProviderAzure     = "azure"     // OpenAI's protocol with Azure's URLs and keys
	ProviderGoogle    = "google"    // with the native backend; with the neutral one it is openai
	ProviderAnthropic = "anthropic" // likewise
	ProviderVertex    = "vertexai"  // Gemini and Claude in Google's cloud; in plans, google or anthropic
	ProviderScripted  = "scripted"
	ProviderProgram   = "program"  // reached by a client of the workers' program
	ProviderSelector  = "selector" // not a provider: a function of the workers' program chooses one for each plan
)

// The APIs of OpenAI.
const (
	APIChatCompletions = "chat_completions"
	APIResponses       = "responses"
)

// The backends: the ways to call a provider.
const (
	// BackendLangChain is the neutral backend: the OpenAI-compatible client.
	BackendLangChain = "langchain"
	// BackendNativeGemini is the provider's own SDK, from Google or Anthropic.
	BackendNativeGemini = "native-gemini"
)

// The drivers for Gemini with the native backend.
const (
	DriverGenAI        = "genai"
	DriverGenerativeAI = "generative-ai-go" // past its end of life: no thinking, no native tools
)

// NativeTools are tools that a Gemini model runs on Google's servers. An agent's settings override its provider's, one
// by one.
type NativeTools struct {
	GoogleSearch  *bool `yaml:"google_search" default:"false"`  // The model may search the web.
	URLContext    *bool `yaml:"url_context" default:"false"`    // The model may read web pages.
	CodeExecution *bool `yaml:"code_execution" default:"false"` // The model may run code in Google's sandbox.
}

// Vertex holds the project, location and credentials of a provider of type vertexai.
type Vertex struct {
	// Project is the Google Cloud project that is billed; only for vertexai, which requires it.
	Project string `yaml:"project" default:"the value of project_env"`
	// ProjectEnv names the environment variable with the project.
	ProjectEnv string `yaml:"project_env" default:"GOOGLE_CLOUD_PROJECT"`
	// Location is the region in which the model runs ("europe-west4", "global").
	Location string `yaml:"location" default:"the value of location_env, else global"`
	// LocationEnv names the environment variable with the location.
	LocationEnv string `yaml:"location_env" default:"GOOGLE_CLOUD_LOCATION"`
	// CredentialsEnv names the environment variable with the path of a credentials file. Without it, Google's application
	// default credentials apply: those of a file, of gcloud, or of the machine.
	CredentialsEnv string `yaml:"credentials_env" default:"GOOGLE_APPLICATION_CREDENTIALS"`
}

// Fallback is a provider to try when the providers before it have failed.
type Fallback struct {
	// Provider is the name of the provider; required.
	Provider string `yaml:"provider"`
	// Backend selects the way to reach the provider.
	Backend string `yaml:"backend" enum:"backend" default:"the agent's, if the provider supports it"`
}

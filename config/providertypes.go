package config

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

// providerType is a row of the table of provider types that the configuration can name.
type providerType struct {
	name    string
	plan    string // the type in plans, with the neutral backend
	baseURL string // of the OpenAI-compatible endpoint
	keyEnv  string
	native  bool // has a driver for the native backend
}

var providerTypes = []providerType{
	{name: "openai", plan: ProviderOpenAI, baseURL: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY"},
	{name: "google", native: true, plan: ProviderOpenAI,
		baseURL: "https://generativelanguage.googleapis.com/v1beta/openai", keyEnv: "GOOGLE_API_KEY"},
	{name: "anthropic", native: true, plan: ProviderOpenAI, baseURL: "https://api.anthropic.com/v1", keyEnv: "ANTHROPIC_API_KEY"},
	{name: "xai", plan: ProviderOpenAI, baseURL: "https://api.x.ai/v1", keyEnv: "XAI_API_KEY"},
	{name: "azure", plan: ProviderAzure, keyEnv: "AZURE_OPENAI_API_KEY"}, // every customer has a separate endpoint
	{name: "ollama", plan: ProviderOpenAI, baseURL: "http://127.0.0.1:11434/v1"},
	{name: "scripted", plan: ProviderScripted},
	{name: "program", plan: ProviderProgram},
	{name: ProviderSelector, plan: ProviderSelector, native: true}, // any backend, because the chosen provider may have it
	{name: ProviderVertex, plan: ProviderGoogle, native: true},
}

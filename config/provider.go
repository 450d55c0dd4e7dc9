package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/picture"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// Provider is a model and the way to reach it.
type Provider struct {
	// Type selects the protocol and the endpoint; required. vertexai has Gemini and Claude models. Claude on Bedrock
	// has type anthropic, with the base_url https://bedrock-runtime.<region>.amazonaws.com/anthropic or
	// https://bedrock-mantle.<region>.api.aws/anthropic. selector has no models: its model is the name of a function of
	// the workers' program that chooses one (see docs/reference/go-api.md).
	Type string `yaml:"type" enum:"provider type"`
	// Model is the provider's name of the model (for azure, of the deployment); required.
	Model string `yaml:"model"`
	// APIKeyEnv names the variable that holds the key. With a custom base_url there is no key by default, because the
	// server may not need one. google and azure always need a key.
	APIKeyEnv string `yaml:"api_key_env" default:"that of the type"`
	// BaseURL is the endpoint. For azure it is required, and is that of the resource.
	BaseURL string `yaml:"base_url" default:"that of the type"`
	// APIVersion is the version of Azure's API ("2024-10-21"); only with azure.
	APIVersion string `yaml:"api_version" default:"none: base_url ends in /openai/v1"`
	// API selects one of OpenAI's APIs. With responses, models get their earlier reasoning back. Other vendors' servers
	// rarely have it. Only with openai, and with azure without api_version.
	API string `yaml:"api" enum:"api" default:"responses for OpenAI's own models that reason, else chat_completions"`

	Vertex `yaml:",inline"`
	// Driver is Gemini's SDK for the native backend; only with google.
	Driver string `yaml:"driver" enum:"driver" default:"genai"`
	// NativeTools are tools that the model may run by itself; only with google and native-gemini.
	NativeTools NativeTools `yaml:"native_tools" default:"none"`
	// Prices are the model's prices, which budgets.max_cost_usd needs. The built-in prices are the list prices of
	// well-known models as of 2026-11-22. They do not apply to a custom base_url.
	Prices Prices `yaml:"prices" default:"the list prices, where they are known"`
	// Thinking says whether the model thinks before it answers: off, on, adaptive (the model decides when, and how
	// much), or how many tokens it may think. Settings that the model does not support are refused.
	Thinking string `yaml:"thinking" default:"the model's own"`
	// ReasoningEffort sets how much the model thinks, in the provider's words: none, minimal, low, medium, high, xhigh,
	// max.
	ReasoningEffort string `yaml:"reasoning_effort" enum:"reasoning effort" default:"the model's own"`
	// Vision says whether the model can see images. Other models get a description of the images that tools return.
	Vision *bool `yaml:"vision" default:"by the model's name"`

	// QuickUnder is for models that answer at once, such as small local models. While 95 of 100 calls end within this
	// time, agents without sub-agents call the model inside the workflow task. This costs less in Temporal, whose UI
	// then shows a marker instead of an activity. At most 1s.
	QuickUnder plan.Duration `yaml:"quick_under" default:"none: every call is an activity"`

	described bool // from an agent's default_model, without an entry

	_ struct{} `later:"rate_limits max_tool_result_tokens"`
}

// Prices are the prices of a model.
type Prices struct {
	// Input is the price of the model's input.
	Input *float64 `yaml:"input" min:"0" unit:"US dollars for a million tokens" default:"0"`
	// Output is the price of the model's replies, including thinking.
	Output *float64 `yaml:"output" min:"0" unit:"US dollars for a million tokens" default:"0"`
	// CacheRead is the price of input that comes from the provider's cache.
	CacheRead *float64 `yaml:"cache_read" above:"0" unit:"US dollars for a million tokens" default:"that of input"`
	// CacheWrite is the price of input that is written to the cache.
	CacheWrite *float64 `yaml:"cache_write" above:"0" unit:"US dollars for a million tokens" default:"that of input"`
	// Reasoning is the price of thinking.
	Reasoning *float64 `yaml:"reasoning" above:"0" unit:"US dollars for a million tokens" default:"that of output"`
	// Image is the price of images in the input.
	Image *float64 `yaml:"image" above:"0" unit:"US dollars for a million tokens" default:"that of input"`
	// LongPrompts say how much more calls with long prompts cost.
	LongPrompts LongPrompts `yaml:"long_prompts" default:"as all others"`
}

// LongPrompts say how prices rise for a whole call whose prompt exceeds a number of tokens.
type LongPrompts struct {
	// Over is the longest prompt at the usual price, in tokens, including cached ones; required.
	Over *int `yaml:"over" min:"1" unit:"tokens"`
	// Input is the factor for all input prices above that length.
	Input *float64 `yaml:"input" above:"0" unit:"times" default:"1"`
	// Output is the factor for all output prices above that length.
	Output *float64 `yaml:"output" above:"0" unit:"times" default:"1"`
}

var (
	providerName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) // no colon: it separates provider and model
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func (pr *Provider) validate(p path, v *validator) {
	if name := p.Name; !pr.described && !providerName.MatchString(name) {
		v.Errorf(p, "a provider's name has at most 64 of A-Z a-z 0-9 _ . -, got %q", name)
	}
	if pr.Type == "" {
		v.Errorf(p.Key("type"), "a type is required")
	}
	if pr.Model == "" {
		v.Errorf(p.Key("model"), "a model is required")
	}
	if pr.APIKeyEnv != "" && !variableName.MatchString(pr.APIKeyEnv) { // not shown, because it may be a key
		v.Errorf(p.Key("api_key_env"), "must be the name of an environment variable, not a key")
	}
	if pr.BaseURL != "" && !plainURL(pr.BaseURL) { // not shown, because it may hold a password
		v.Errorf(p.Key("base_url"), "must be an http or https URL without user and password")
	}
	if pr.QuickUnder > maxQuickUnder {
		v.Errorf(p.Key("quick_under"), "must be 1s or shorter, got %s: a call that takes longer leaves the workflow task", pr.QuickUnder)
	}
	pr.validateAzure(p, v)
	pr.validateGoogle(p, v)
	v.thinks(p.Key("thinking"), pr.Thinking)
	pr.validateVertex(p, v)
	if long := pr.Prices.LongPrompts; long.Over == nil && long != (LongPrompts{}) {
		v.Errorf(p.Key("prices").Key("long_prompts").Key("over"), "it must say from how many tokens on a prompt is long")
	} else if long != (LongPrompts{}) && pr.complete().Prices == pr.Prices && pr.Prices == (Prices{LongPrompts: long}) {
		v.Errorf(p.Key("prices"), "long_prompts are times the prices of input and output, and there are none: the model is in no list")
	}
	if pr.API != "" && pr.Type != ProviderOpenAI && (pr.Type != ProviderAzure || pr.APIVersion != "") {
		v.Errorf(p.Key("api"), "only providers of type openai, and azure without an api_version, have a choice of APIs")
	}
}

func (pr *Provider) validateAzure(p path, v *validator) {
	switch azure := pr.Type == ProviderAzure; {
	case azure && pr.BaseURL == "":
		v.Errorf(p.Key("base_url"), "a provider of type azure needs the URL of its resource")
	case azure && pr.APIVersion == "" && !strings.HasSuffix(strings.TrimSuffix(pr.BaseURL, "/"), "/openai/v1"):
		v.Errorf(p.Key("api_version"), "a provider of type azure needs an API version, unless its base_url ends in /openai/v1")
	case !azure && pr.APIVersion != "":
		v.Errorf(p.Key("api_version"), "only a provider of type azure has an API version")
	}
}

func (pr *Provider) validateGoogle(p path, v *validator) {
	switch wanted := pr.NativeTools.wanted(); {
	case pr.Driver != "" && !pr.gemini():
		v.Errorf(p.Key("driver"), "only a provider of type google has a driver")
	case wanted && !pr.gemini():
		v.Errorf(p.Key("native_tools"), "only a provider of type google has native tools")
	case value(pr.Vision) && pr.Driver == DriverGenerativeAI:
		v.Errorf(p.Key("vision"), "driver %s sends no images: use %s", DriverGenerativeAI, DriverGenAI)
	case wanted && pr.Driver == DriverGenerativeAI:
		v.Errorf(p.Key("native_tools"), "driver %s has no native tools: use %s", DriverGenerativeAI, DriverGenAI)
	}
}

func plainURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// native reports whether the native backend can reach the provider.
func (pr *Provider) native() bool { return pr.row().native }

// gemini reports whether the provider has Gemini models, with their drivers and native tools.
func (pr *Provider) gemini() bool {
	return pr.Type == ProviderGoogle || pr.Type == ProviderVertex && !pr.claude()
}

// reachableBy returns the backend if it can reach the provider, or else the neutral one.
func (pr *Provider) reachableBy(backend string) string {
	if backend == BackendNativeGemini && !pr.native() {
		return BackendLangChain
	}
	return backend
}

// complete returns the provider with the defaults of its type: the endpoint of the neutral backend, the key's variable,
// the driver.
func (pr *Provider) complete() Provider {
	out, row := *pr, pr.row()
	if out.APIKeyEnv == "" && (out.BaseURL == "" || row.baseURL == "" || out.gemini()) {
		out.APIKeyEnv = row.keyEnv
	}
	if out.BaseURL == "" {
		out.BaseURL = row.baseURL
	}
	own, listed := pr.Prices.LongPrompts, listPrices(pr.Type, pr.Model)
	if pr.Prices == (Prices{LongPrompts: own}) && pr.BaseURL == "" && listed != (Prices{}) {
		out.Prices = listed
		if own != (LongPrompts{}) {
			out.Prices.LongPrompts = own
		}
	}
	if out.Driver == "" && out.gemini() {
		out.Driver = DriverGenAI
	}
	return out
}

func (pr *Provider) row() providerType {
	row, _ := lookupProviderType(pr.Type)
	return row
}

// plan returns the provider in the form in which a worker calls it with a backend.
func (pr *Provider) plan(name, backend string, tools NativeTools) plan.Provider {
	full := pr.complete()
	out := plan.Provider{
		Name: name, Type: pr.row().plan, Model: pr.Model, BaseURL: full.BaseURL, APIKeyEnv: full.APIKeyEnv, APIVersion: pr.APIVersion,
		Prices: full.Prices.plan(),
		Vision: pr.sees(), Responses: pr.responds(), QuickUnder: pr.QuickUnder,
	}
	if pr.Type == ProviderVertex {
		out.Vertex, out.Driver = pr.Vertex.plan(), full.Driver // no other SDK reaches it
		if pr.claude() {
			out.Type = ProviderAnthropic
		}
	}
	if backend == BackendNativeGemini && pr.Type != ProviderVertex {
		out.Type, out.BaseURL, out.Driver = pr.Type, pr.BaseURL, full.Driver
	}
	if out.Type == ProviderGoogle {
		all, _ := strict.Inherit(pr.NativeTools, tools)
		out.NativeTools = all.plan()
	}
	out.Accepts = out.Dialect()
	return out
}

// responds reports whether to use the Responses API. By default, reasoning models on OpenAI's own service use it.
func (pr *Provider) responds() bool {
	return pr.API == APIResponses || pr.API == "" && pr.Type == ProviderOpenAI && pr.BaseURL == "" && llm.OpenAIReasons(pr.Model)
}

// sees reports whether the model gets images. Google's older SDK does not support them.
func (pr *Provider) sees() bool {
	if pr.Vision != nil {
		return *pr.Vision
	}
	return pr.Driver != DriverGenerativeAI && picture.Seen(pr.Model)
}

// lookupProviderType returns a row of the table of provider types.
func lookupProviderType(name string) (providerType, bool) {
	i := slices.IndexFunc(providerTypes, func(t providerType) bool { return t.name == name })
	if i < 0 {
		return providerType{}, false
	}
	return providerTypes[i], true
}

// KeyVariable returns the variable that holds the key of a type's providers by default, or an empty string if the type
// has none.
func KeyVariable(providerType string) string {
	row, _ := lookupProviderType(providerType)
	return row.keyEnv
}

// KnownProviderType reports whether an entry of llm_providers can have this type.
func KnownProviderType(name string) bool {
	_, known := lookupProviderType(name)
	return known
}

// askable returns the types that a request can name without an entry.
func askable() string {
	var names []string
	for _, t := range providerTypes {
		if t.name != ProviderAzure {
			names = append(names, t.name)
		}
	}
	return strings.Join(names, ", ")
}

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

// Provider is a model and how it is reached.
type Provider struct {
	// Type says whose protocol and endpoint it is; required. vertexai has models of Gemini and of Claude; Claude at
	// Bedrock is of type anthropic, with the base_url https://bedrock-runtime.<region>.amazonaws.com/anthropic or
	// https://bedrock-mantle.<region>.api.aws/anthropic. selector has no models: its model is the name of a function of
	// the workers' program that names one (see docs/reference/go-api.md).
	Type string `yaml:"type" enum:"provider type"`
	// Model is the provider's name of the model (azure: of the deployment); required.
	Model string `yaml:"model"`
	// APIKeyEnv names the variable that holds the key. Behind a base_url of your
	// own there may be a server without keys, so there it is none by default; but
	// google and azure always have one.
	APIKeyEnv string `yaml:"api_key_env" default:"that of the type"`
	// BaseURL is the endpoint; azure needs one: that of the resource.
	BaseURL string `yaml:"base_url" default:"that of the type"`
	// APIVersion is the version of Azure's API ("2024-10-21"); only with azure.
	APIVersion string `yaml:"api_version" default:"none: base_url ends in /openai/v1"`
	// API is the one of OpenAI's that is spoken: by responses, models are handed back what they
	// thought. Servers of others rarely have it. Only with openai, and azure without api_version.
	API string `yaml:"api" enum:"api" default:"responses for OpenAI's own models that reason, else chat_completions"`

	Vertex `yaml:",inline"`
	// Driver is Gemini's SDK by the native backend; only with google.
	Driver string `yaml:"driver" enum:"driver" default:"genai"`
	// NativeTools are what the model may do by itself; only with google, by native-gemini.
	NativeTools NativeTools `yaml:"native_tools" default:"none"`
	// Prices are what the model costs; budgets.max_cost_usd needs them. Those that are built in are the
	// list prices of well-known models as of 2026-11-22; they do not hold behind a base_url of your own.
	Prices Prices `yaml:"prices" default:"the list prices, where they are known"`
	// Thinking says whether the model thinks before it answers: off, on, adaptive (the model decides when, and how
	// much), or how many tokens it may think. What a model cannot do is refused.
	Thinking string `yaml:"thinking" default:"the model's own"`
	// ReasoningEffort is how much the model thinks, in the provider's words: none, minimal, low, medium, high, xhigh, max.
	ReasoningEffort string `yaml:"reasoning_effort" enum:"reasoning effort" default:"the model's own"`
	// Vision says whether the model sees images. Others are told what tools have returned of them.
	Vision *bool `yaml:"vision" default:"by the model's name"`

	// QuickUnder is for models that answer at once, small ones nearby for example: while 95 of 100 calls end within
	// this time, agents without sub-agents ask the model inside the workflow task. That costs Temporal less, and its UI shows
	// a marker in place of an activity. At most 1s.
	QuickUnder plan.Duration `yaml:"quick_under" default:"none: every call is an activity"`

	described bool // by an agent's default_model: it has no name of its own

	_ struct{} `later:"rate_limits max_tool_result_tokens"`
}

// Prices are what a model costs.
type Prices struct {
	// Input is the price of what the model is sent.
	Input *float64 `yaml:"input" min:"0" unit:"US dollars for a million tokens" default:"0"`
	// Output is the price of what it replies, thinking included.
	Output *float64 `yaml:"output" min:"0" unit:"US dollars for a million tokens" default:"0"`
	// CacheRead is the price of input that comes from the provider's cache.
	CacheRead *float64 `yaml:"cache_read" above:"0" unit:"US dollars for a million tokens" default:"that of input"`
	// CacheWrite is the price of input that is written there.
	CacheWrite *float64 `yaml:"cache_write" above:"0" unit:"US dollars for a million tokens" default:"that of input"`
	// Reasoning is the price of thoughts.
	Reasoning *float64 `yaml:"reasoning" above:"0" unit:"US dollars for a million tokens" default:"that of output"`
	// Image is the price of images in the input.
	Image *float64 `yaml:"image" above:"0" unit:"US dollars for a million tokens" default:"that of input"`
	// LongPrompts say what calls cost whose prompts are longer than usual.
	LongPrompts LongPrompts `yaml:"long_prompts" default:"as all others"`
}

// LongPrompts are how prices rise for the whole of a call that is sent more than some tokens.
type LongPrompts struct {
	// Over is up to how many tokens, cached ones included, a prompt is of usual length; required.
	Over *int `yaml:"over" min:"1" unit:"tokens"`
	// Input is how many times as much all kinds of input cost beyond that.
	Input *float64 `yaml:"input" above:"0" unit:"times" default:"1"`
	// Output is how many times as much all kinds of output cost then.
	Output *float64 `yaml:"output" above:"0" unit:"times" default:"1"`
}

var (
	providerName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) // no colon: it parts provider and model
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
	if pr.APIKeyEnv != "" && !variableName.MatchString(pr.APIKeyEnv) { // it may be a key: not shown
		v.Errorf(p.Key("api_key_env"), "must be the name of an environment variable, not a key")
	}
	if pr.BaseURL != "" && !plainURL(pr.BaseURL) { // it may hold a password: not shown
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

// gemini reports whether the provider has Gemini's models, with their drivers and native tools.
func (pr *Provider) gemini() bool {
	return pr.Type == ProviderGoogle || pr.Type == ProviderVertex && !pr.claude()
}

// reachableBy returns the backend, if it can reach the provider, else the neutral one.
func (pr *Provider) reachableBy(backend string) string {
	if backend == BackendNativeGemini && !pr.native() {
		return BackendLangChain
	}
	return backend
}

// complete is the provider with what its type knows: its endpoint (that of the
// neutral backend), its key's variable, its driver.
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

// plan is the provider as a worker calls it by a backend.
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

// responds: where nothing is said, OpenAI's own service is asked so for models that reason.
func (pr *Provider) responds() bool {
	return pr.API == APIResponses || pr.API == "" && pr.Type == ProviderOpenAI && pr.BaseURL == "" && llm.OpenAIReasons(pr.Model)
}

// sees: the older SDK of Google's is sent no images.
func (pr *Provider) sees() bool {
	if pr.Vision != nil {
		return *pr.Vision
	}
	return pr.Driver != DriverGenerativeAI && picture.Seen(pr.Model)
}

// lookupProviderType finds a row of the table of what the configuration can name.
func lookupProviderType(name string) (providerType, bool) {
	i := slices.IndexFunc(providerTypes, func(t providerType) bool { return t.name == name })
	if i < 0 {
		return providerType{}, false
	}
	return providerTypes[i], true
}

// KeyVariable is the variable that has the key of a type's providers, unless their entries name another; "" = none has.
func KeyVariable(providerType string) string {
	row, _ := lookupProviderType(providerType)
	return row.keyEnv
}

// KnownProviderType reports whether an entry of llm_providers can have the type.
func KnownProviderType(name string) bool {
	_, known := lookupProviderType(name)
	return known
}

// askable are the types that a request can name without an entry.
func askable() string {
	var names []string
	for _, t := range providerTypes {
		if t.name != ProviderAzure {
			names = append(names, t.name)
		}
	}
	return strings.Join(names, ", ")
}

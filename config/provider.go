package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

// Provider is a model and how it is reached.
type Provider struct {
	// Type says whose protocol and endpoint it is; required.
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
	// Driver is the SDK of the native-gemini backend; only with google.
	Driver string `yaml:"driver" enum:"driver" default:"genai"`
	// NativeTools are what the model may do by itself; only with google, by native-gemini.
	NativeTools NativeTools `yaml:"native_tools" default:"none"`
	// Prices are what the model costs; budgets.max_cost_usd needs them.
	Prices Prices `yaml:"prices" default:"none"`

	described bool // by an agent's default_model: it has no name of its own

	_ struct{} `later:"rate_limits thinking reasoning_effort max_tool_result_tokens credentials_env project_env location_env"`
}

// Prices are what a model costs.
type Prices struct {
	// Input is the price of what the model is sent.
	Input *float64 `yaml:"input" min:"0" unit:"US dollars for a million tokens" default:"0"`
	// Output is the price of what it replies, thinking included.
	Output *float64 `yaml:"output" min:"0" unit:"US dollars for a million tokens" default:"0"`
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
	pr.validateAzure(p, v)
	pr.validateGoogle(p, v)
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
	case pr.Driver != "" && !pr.native():
		v.Errorf(p.Key("driver"), "only a provider of type google has a driver")
	case wanted && !pr.native():
		v.Errorf(p.Key("native_tools"), "only a provider of type google has native tools")
	case wanted && pr.Driver == DriverGenerativeAI:
		v.Errorf(p.Key("native_tools"), "driver %s has no native tools: use %s", DriverGenerativeAI, DriverGenAI)
	}
}

func plainURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// native reports whether the native Gemini backend can reach the provider.
func (pr *Provider) native() bool { return pr.Type == ProviderGoogle }

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
	if out.APIKeyEnv == "" && (out.BaseURL == "" || row.baseURL == "" || out.native()) {
		out.APIKeyEnv = row.keyEnv
	}
	if out.BaseURL == "" {
		out.BaseURL = row.baseURL
	}
	if out.Driver == "" && out.native() {
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
		Prices: plan.Prices{Input: value(pr.Prices.Input), Output: value(pr.Prices.Output)},
	}
	if backend == BackendNativeGemini {
		all, _ := strict.Inherit(pr.NativeTools, tools)
		out.Type, out.BaseURL, out.Driver, out.NativeTools = ProviderGoogle, pr.BaseURL, full.Driver, all.plan()
	}
	return out
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

// askable are the types that a request can name without an entry.
func askable() string {
	var names []string
	for _, t := range providerTypes {
		if t.plan != "" && t.name != ProviderAzure {
			names = append(names, t.name)
		}
	}
	return strings.Join(names, ", ")
}

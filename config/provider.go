package config

import (
	"net/url"
	"regexp"
	"slices"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Provider is a model and how it is reached.
type Provider struct {
	Type  string `yaml:"type"`
	Model string `yaml:"model"`
	// APIKeyEnv names the variable that holds the key. Not set: the type's own,
	// unless there is a BaseURL, behind which may be a server without keys.
	APIKeyEnv string   `yaml:"api_key_env"`
	BaseURL   string   `yaml:"base_url"`
	_         struct{} `later:"native_tools rate_limits prices driver"`
}

// Types of providers, as plans have them.
const (
	ProviderOpenAI   = "openai" // everything that speaks its protocol
	ProviderScripted = "scripted"
)

// providerType is a row of the table of what the configuration can name.
type providerType struct {
	name    string
	driver  string // the type in plans; "" = not supported yet
	baseURL string
	keyEnv  string
}

var providerTypes = []providerType{
	{name: "openai", driver: ProviderOpenAI, baseURL: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY"},
	{name: "ollama", driver: ProviderOpenAI, baseURL: "http://127.0.0.1:11434/v1"},
	{name: "scripted", driver: ProviderScripted},
	{name: "google"},
	{name: "vertexai"},
	{name: "anthropic"},
	{name: "xai"},
}

func lookupProviderType(name string) (providerType, bool) {
	i := slices.IndexFunc(providerTypes, func(t providerType) bool { return t.name == name })
	if i < 0 {
		return providerType{}, false
	}
	return providerTypes[i], true
}

var (
	providerName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) // no colon: it parts provider and model
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func (pr *Provider) validate(p path, v *validator) {
	if name := p.name; !providerName.MatchString(name) {
		v.errorf(p, "a provider's name has at most 64 of A-Z a-z 0-9 _ . -, got %q", name)
	}
	switch row, ok := lookupProviderType(pr.Type); {
	case pr.Type == "":
		v.errorf(p.key("type"), "a type is required")
	case ok && row.driver == "":
		v.errorf(p.key("type"), "%q is not supported yet", pr.Type)
	case !ok:
		v.oneOf(p.key("type"), pr.Type, "openai", "ollama", "scripted")
	}
	if pr.Model == "" {
		v.errorf(p.key("model"), "a model is required")
	}
	if pr.APIKeyEnv != "" && !variableName.MatchString(pr.APIKeyEnv) { // it may be a key: not shown
		v.errorf(p.key("api_key_env"), "must be the name of an environment variable, not a key")
	}
	if pr.BaseURL != "" && !plainURL(pr.BaseURL) { // it may hold a password: not shown
		v.errorf(p.key("base_url"), "must be an http or https URL without user and password")
	}
}

func plainURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

func (pr *Provider) plan(name string) agent.Provider {
	row, _ := lookupProviderType(pr.Type)
	out := agent.Provider{Name: name, Type: row.driver, Model: pr.Model, BaseURL: pr.BaseURL, APIKeyEnv: pr.APIKeyEnv}
	if out.BaseURL == "" {
		out.BaseURL = row.baseURL
		if out.APIKeyEnv == "" {
			out.APIKeyEnv = row.keyEnv
		}
	}
	return out
}

package configuration

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/kit/picture"
	"github.com/inquest-dev/inquest/internal/llm"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/strict"
)

var (
	providerName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`) // no colon: it separates provider and model
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func validateProvider(pr *config.Provider, p path, v *validator) {
	if name := p.Name; !v.descriptors[name] && !providerName.MatchString(name) {
		v.Errorf(p, "a provider's name must have at most 64 characters of A-Z a-z 0-9 _ . -, got %q", name)
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
	if pr.BaseURL != "" && !isURL(pr.BaseURL) { // not shown, because it may hold a password
		v.Errorf(p.Key("base_url"), "must be an http or https URL")
	}
	if pr.QuickUnder > maxQuickUnder {
		v.Errorf(p.Key("quick_under"), "must be 1s or shorter, got %s: longer calls cannot run inside a workflow task", pr.QuickUnder)
	}
	validateAzure(pr, p, v)
	validateGoogle(pr, p, v)
	v.thinks(p.Key("thinking"), pr.Thinking)
	validateVertex(pr, p, v)
	if long := pr.Prices.LongPrompts; long.Over == nil && long != (config.LongPrompts{}) {
		v.Errorf(p.Key("prices").Key("long_prompts").Key("over"), "over is required: the prompt size, in tokens, above which these prices apply")
	} else if long != (config.LongPrompts{}) && completeProvider(pr).Prices == pr.Prices && pr.Prices == (config.Prices{LongPrompts: long}) {
		v.Errorf(p.Key("prices"), "long_prompts multiplies the prices of input and output: set both, because no list prices apply to this "+
			"provider")
	}
	if pr.API != "" && pr.Type != config.ProviderOpenAI && (pr.Type != config.ProviderAzure || pr.APIVersion != "") {
		v.Errorf(p.Key("api"), "api is only for providers of type openai, and azure without an api_version")
	}
}

func validateAzure(pr *config.Provider, p path, v *validator) {
	switch azure := pr.Type == config.ProviderAzure; {
	case azure && pr.BaseURL == "":
		v.Errorf(p.Key("base_url"), "a provider of type azure needs the URL of its resource")
	case azure && pr.APIVersion == "" && !strings.HasSuffix(strings.TrimSuffix(pr.BaseURL, "/"), "/openai/v1"):
		v.Errorf(p.Key("api_version"), "a provider of type azure needs an API version, unless its base_url ends in /openai/v1")
	case !azure && pr.APIVersion != "":
		v.Errorf(p.Key("api_version"), "api_version is only for providers of type azure")
	}
}

func validateGoogle(pr *config.Provider, p path, v *validator) {
	switch wanted := wantsNative(pr.NativeTools); {
	case pr.Driver != "" && !isGemini(pr):
		v.Errorf(p.Key("driver"), "driver is only for Gemini models, at providers of type google or vertexai")
	case wanted && !isGemini(pr):
		v.Errorf(p.Key("native_tools"), "native_tools is only for Gemini models, at providers of type google or vertexai")
	case value(pr.Vision) && pr.Driver == config.DriverGenerativeAI:
		v.Errorf(p.Key("vision"), "driver %s does not support images: use %s", config.DriverGenerativeAI, config.DriverGenAI)
	case wanted && pr.Driver == config.DriverGenerativeAI:
		v.Errorf(p.Key("native_tools"), "driver %s does not support native tools: use %s", config.DriverGenerativeAI, config.DriverGenAI)
	}
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// withoutUser returns a URL without its user name and password, which must not reach plans. The rest may contain templates.
func withoutUser(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	if !ok || at < 0 {
		return text
	}
	return scheme + "://" + rest[at+1:]
}

// isNative reports whether the native backend can reach the provider.
func isNative(pr *config.Provider) bool { return providerRow(pr).native }

// isGemini reports whether the provider has Gemini models, with their drivers and native tools.
func isGemini(pr *config.Provider) bool {
	return pr.Type == config.ProviderGoogle || pr.Type == config.ProviderVertex && !isClaude(pr)
}

// reachableBy returns the backend if it can reach the provider, or else the neutral one.
func reachableBy(pr *config.Provider, backend string) string {
	if backend == config.BackendNativeGemini && !isNative(pr) {
		return config.BackendLangChain
	}
	return backend
}

// completeProvider returns the provider with the defaults of its type: the endpoint of the neutral backend, the key's variable,
// the driver.
func completeProvider(pr *config.Provider) config.Provider {
	out, row := *pr, providerRow(pr)
	out.BaseURL = withoutUser(pr.BaseURL)
	if out.APIKeyEnv == "" && (out.BaseURL == "" || row.baseURL == "" || isGemini(&out)) {
		out.APIKeyEnv = row.keyEnv
	}
	if out.BaseURL == "" {
		out.BaseURL = row.baseURL
	}
	own, listed := pr.Prices.LongPrompts, listPrices(pr.Type, pr.Model)
	if pr.Prices == (config.Prices{LongPrompts: own}) && pr.BaseURL == "" && listed != (config.Prices{}) {
		out.Prices = listed
		if own != (config.LongPrompts{}) {
			out.Prices.LongPrompts = own
		}
	}
	if out.Driver == "" && isGemini(&out) {
		out.Driver = config.DriverGenAI
	}
	return out
}

func providerRow(pr *config.Provider) providerType {
	row, _ := lookupProviderType(pr.Type)
	return row
}

// plannedProvider returns the provider in the form in which a worker calls it with a backend.
func plannedProvider(pr *config.Provider, name, backend string, tools config.NativeTools) plan.Provider {
	full := completeProvider(pr)
	out := plan.Provider{
		Name: name, Type: providerRow(pr).plan, Model: pr.Model, BaseURL: full.BaseURL, APIKeyEnv: full.APIKeyEnv, APIVersion: pr.APIVersion,
		Prices: plannedPrices(full.Prices),
		Vision: providerSees(pr), Responses: providerResponds(pr), QuickUnder: pr.QuickUnder,
	}
	if pr.Type == config.ProviderVertex {
		out.Vertex, out.Driver = plannedVertex(pr.Vertex), full.Driver // no other SDK reaches it
		if isClaude(pr) {
			out.Type = config.ProviderAnthropic
		}
	}
	if backend == config.BackendNativeGemini && pr.Type != config.ProviderVertex {
		out.Type, out.BaseURL, out.Driver = pr.Type, withoutUser(pr.BaseURL), full.Driver
	}
	if out.Type == config.ProviderGoogle {
		all, _ := strict.Inherit(pr.NativeTools, tools)
		out.NativeTools = plannedNativeTools(all)
	}
	out.Accepts = out.Dialect()
	return out
}

// providerResponds reports whether to use the Responses API. By default, reasoning models on OpenAI's own service use it.
func providerResponds(pr *config.Provider) bool {
	return pr.API == config.APIResponses || pr.API == "" && pr.Type == config.ProviderOpenAI && pr.BaseURL == "" && llm.OpenAIReasons(pr.Model)
}

// providerSees reports whether the model gets images. Google's older SDK does not support them.
func providerSees(pr *config.Provider) bool {
	if pr.Vision != nil {
		return *pr.Vision
	}
	return pr.Driver != config.DriverGenerativeAI && picture.Seen(pr.Model)
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
		if t.name != config.ProviderAzure {
			names = append(names, t.name)
		}
	}
	return strings.Join(names, ", ")
}

// providerType is a row of the table of provider types that the configuration can name.
type providerType struct {
	name    string
	plan    string // the type in plans, with the neutral backend
	baseURL string // of the OpenAI-compatible endpoint
	keyEnv  string
	native  bool // has a driver for the native backend
}

var providerTypes = []providerType{
	{name: "openai", plan: config.ProviderOpenAI, baseURL: "https://api.openai.com/v1", keyEnv: "OPENAI_API_KEY"},
	{name: "google", native: true, plan: config.ProviderOpenAI,
		baseURL: "https://generativelanguage.googleapis.com/v1beta/openai", keyEnv: "GOOGLE_API_KEY"},
	{name: "anthropic", native: true, plan: config.ProviderOpenAI, baseURL: "https://api.anthropic.com/v1", keyEnv: "ANTHROPIC_API_KEY"},
	{name: "xai", plan: config.ProviderOpenAI, baseURL: "https://api.x.ai/v1", keyEnv: "XAI_API_KEY"},
	{name: "azure", plan: config.ProviderAzure, keyEnv: "AZURE_OPENAI_API_KEY"}, // every customer has a separate endpoint
	{name: "ollama", plan: config.ProviderOpenAI, baseURL: "http://127.0.0.1:11434/v1"},
	{name: "scripted", plan: config.ProviderScripted},
	{name: "program", plan: config.ProviderProgram},
	{name: config.ProviderSelector, plan: config.ProviderSelector, native: true}, // any backend, because the chosen provider may have it
	{name: config.ProviderVertex, plan: config.ProviderGoogle, native: true},
}

// isClaude reports whether a provider of type vertexai has a Claude model. All others are Gemini models.
func isClaude(pr *config.Provider) bool { return strings.HasPrefix(pr.Model, "claude-") }

// plannedVertex returns the settings for a plan, with the usual names of variables as defaults.
func plannedVertex(x config.Vertex) plan.Vertex {
	out := plan.Vertex(x)
	out.ProjectEnv = cmp.Or(out.ProjectEnv, "GOOGLE_CLOUD_PROJECT")
	out.LocationEnv = cmp.Or(out.LocationEnv, "GOOGLE_CLOUD_LOCATION")
	out.CredentialsEnv = cmp.Or(out.CredentialsEnv, "GOOGLE_APPLICATION_CREDENTIALS")
	return out
}

func validateVertex(pr *config.Provider, p path, v *validator) {
	if pr.Type != config.ProviderVertex {
		if pr.Vertex != (config.Vertex{}) {
			v.Errorf(p, "project, location and credentials_env are only for providers of type vertexai")
		}
		return
	}
	switch {
	case pr.Driver == config.DriverGenerativeAI && isGemini(pr):
		v.Errorf(p.Key("driver"), "driver %s does not support Vertex AI: use %s", config.DriverGenerativeAI, config.DriverGenAI)
	case pr.APIKeyEnv != "":
		v.Errorf(p.Key("api_key_env"), "a provider of type vertexai has no API key: use credentials_env")
	case pr.Model != "" && !strings.HasPrefix(pr.Model, "gemini-") && !isClaude(pr):
		v.Errorf(p.Key("model"), "Vertex AI supports only Gemini and Claude models, got %q", pr.Model)
	}
	at := plannedVertex(pr.Vertex)
	names := map[string]string{"project_env": at.ProjectEnv, "location_env": at.LocationEnv, "credentials_env": at.CredentialsEnv}
	for key, name := range names {
		if !variableName.MatchString(name) {
			v.Errorf(p.Key(key), "must be the name of an environment variable")
		}
	}
}

// thinks checks the form of a setting.
func (v *validator) thinks(p path, thinking string) {
	if _, ok := parseThinking(thinking); !ok {
		v.Errorf(p, "must be off, on, adaptive, or a number of tokens, got %q", thinking)
	}
}

// parseThinking parses a setting: a mode, or the budget of "on".
func parseThinking(text string) (t agent.Thinking, ok bool) {
	switch mode := agent.ThinkingMode(text); mode {
	case "", agent.ThinkingOff, agent.ThinkingOn, agent.ThinkingAdaptive:
		return agent.Thinking{Mode: mode}, true
	}
	budget, err := strconv.Atoi(text)
	return agent.Thinking{Mode: agent.ThinkingOn, Budget: budget}, err == nil && budget > 0
}

// thinking returns how much a provider's model thinks for an agent, or the reason why it cannot think as configured.
func (c *content) thinking(w work, at choice) (agent.Thinking, string) {
	entry, ok := c.LLMProviders[at.provider]
	if !ok {
		return agent.Thinking{}, "" // reported already
	}
	return thinkingBy(w, entry, plannedProvider(entry, at.provider, at.backend, config.NativeTools{}))
}

// thinkingBy merges the agent's setting over that of its provider's entry. If the model does not support the result, it
// returns only the reason.
func thinkingBy(w work, entry *config.Provider, p plan.Provider) (agent.Thinking, string) {
	want, _ := parseThinking(cmp.Or(w.Thinking, entry.Thinking))
	if want.Effort = w.Effort; want.Effort == "" && (w.Thinking == "" || want.Mode != agent.ThinkingOff) {
		want.Effort = entry.ReasoningEffort
	}
	problem := llm.ThinkingProblem(p.Type, p.Model, want, value(w.MaxTokens))
	switch {
	case want != (agent.Thinking{}) && p.Driver == config.DriverGenerativeAI:
		problem = fmt.Sprintf("driver %s does not support thinking: use %s", config.DriverGenerativeAI, config.DriverGenAI)
	case problem == "":
		return want, ""
	}
	return agent.Thinking{}, fmt.Sprintf("thinking of agent %q at provider %q: %s", w.definition, p.Name, problem)
}

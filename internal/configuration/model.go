package configuration

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/config"
)

// defineModels adds entries for models that agents only describe ("openai:gpt-4o"), because all other code refers to
// providers by name (spec: tools, "Model descriptor").
func (c loader) defineModels() {
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		c.defineModel(name)
	}
}

func (c loader) defineModel(agent string) {
	model, p := c.modelOf(agent)
	c.models[agent] = model
	if _, known := c.LLMProviders[model]; known || model == "" {
		return
	}
	entry, err := (&resolver{Config: c.Config}).described(model)
	switch {
	case err != nil && c.src.Partial && !strings.HasSuffix(model, ":"): // the provider may be defined elsewhere
		return
	case err != nil:
		c.report.Fail(p, "%v", err)
		return
	}
	c.LLMProviders[model], c.descriptors[model] = entry, true
	c.report.Alias(entryPath("llm_providers", model), p)
}

// modelOf returns the model of an agent or of its role, and the path where it is written.
func (c loader) modelOf(name string) (model string, at path) {
	a, p := c.Agents[name], entryPath("agents", name)
	if a.ModelRole == "" {
		return a.DefaultModel, p.Key("default_model")
	}
	model, known := c.Defaults.ModelRoles[a.ModelRole]
	switch {
	case a.DefaultModel != "":
		c.report.Fail(p.Key("model_role"), "set either default_model or model_role, not both")
	case !known:
		c.report.Add(c.absent(), p.Key("model_role"), "%s", unknownName("model role", a.ModelRole, c.Defaults.ModelRoles))
		c.report.Silence(p.Key("model_role"))
	}
	return model, path{}.Key("defaults").Key("model_roles").Key(a.ModelRole)
}

// described returns the provider for a descriptor: provider:model, or the name of an OpenAI model.
func (r *resolver) described(model string) (*config.Provider, error) {
	if !strings.Contains(model, ":") {
		model = config.ProviderOpenAI + ":" + model
	}
	found, err := r.providerFor(model)
	if err != nil {
		return nil, err
	}
	return found.entry, nil
}

// override is the provider that a request selects for every agent.
type override struct {
	name  string // as in the request
	entry *config.Provider
}

// providerFor returns the provider that a request asks for: an entry, or "provider:model" with an entry or a type as
// provider. It returns nil if the request asks for none.
func (r *resolver) providerFor(descriptor string) (*override, error) {
	if descriptor == "" {
		return nil, nil
	}
	if entry, ok := r.LLMProviders[descriptor]; ok {
		return &override{descriptor, entry}, nil
	}
	name, model, _ := strings.Cut(descriptor, ":")
	entry, ok := r.LLMProviders[name]
	if !ok {
		entry = &config.Provider{Type: name}
	}
	if !ok && name == config.ProviderAzure || model == "" || providerRow(entry).plan == "" {
		return nil, planError("%s; or provider:model, with a provider of the configuration or one of %s",
			unknownName("provider", descriptor, r.LLMProviders), askable())
	}
	withModel := *entry
	withModel.Model = model
	return &override{descriptor, &withModel}, nil
}

func validateFallback(f config.Fallback, p path, v *validator) {
	if f.Provider == "" {
		v.Errorf(p.Key("provider"), "a provider is required")
	}
	v.provider(p.Key("provider"), f.Provider)
	v.reachable(p.Key("backend"), f.Provider, f.Backend)
}

// takeFallbackLists copies each list to the places that name it, as if it had been written there.
func (c loader) takeFallbackLists() {
	d, at := &c.Defaults, path{}.Key("defaults")
	c.takeFallbackList(at, "fallback_list", at, &d.FallbackList, &d.FallbackProviders)
	c.takeClosingLists(at, &d.ExecutiveSummaryFallbackList, &d.ExecutiveSummary, &d.Scoring)
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a, at := c.Agents[name], entryPath("agents", name)
		c.takeFallbackList(at, "fallback_list", at, &a.FallbackList, &a.FallbackProviders)
	}
	for _, name := range slices.Sorted(maps.Keys(c.AgentChains)) {
		chain, at := c.AgentChains[name], entryPath("agent_chains", name)
		c.takeFallbackList(at, "fallback_list", at, &chain.FallbackList, &chain.FallbackProviders)
		c.takeClosingLists(at, &chain.ExecutiveSummaryFallbackList, &chain.ExecutiveSummary, &chain.Scoring)
		for i, stage := range chain.Stages {
			at := stagePath(name, i)
			c.takeFallbackList(at, "fallback_list", at, &stage.FallbackList, &stage.FallbackProviders)
			for n, a := range stage.Agents {
				at := at.Key("agents").Index(n)
				c.takeFallbackList(at, "fallback_list", at, &a.FallbackList, &a.FallbackProviders)
			}
		}
	}
}

// takeClosingLists does so for the closing agents. The summary's list has two keys.
func (c loader) takeClosingLists(at path, summaryList *string, summary, score *config.Closing) {
	ofSummary, ofScore := at.Key(summing.key), at.Key(scoring.key)
	c.takeFallbackList(ofSummary, "fallback_list", ofSummary, &summary.FallbackList, &summary.FallbackProviders)
	c.takeFallbackList(at, "executive_summary_fallback_list", ofSummary, summaryList, &summary.FallbackProviders)
	c.takeFallbackList(ofScore, "fallback_list", ofScore, &score.FallbackList, &score.FallbackProviders)
}

// takeFallbackList copies the list that is named by a key of one place into the providers of another.
func (c loader) takeFallbackList(at path, key string, into path, name *string, providers *[]config.Fallback) {
	if *name == "" {
		return
	}
	p, own := at.Key(key), into.Key("fallback_providers")
	named, known := c.FallbackLists[*name]
	switch {
	case *providers != nil:
		c.report.Fail(p, "set either fallback_list or fallback_providers, not both")
	case !known:
		c.report.Add(c.absent(), p, "%s", unknownName("fallback list", *name, c.FallbackLists))
		c.report.Silence(p)
	default:
		c.report.Alias(own, p)
		c.report.Silence(own) // problems are reported at the list itself
		*name, *providers = "", append([]config.Fallback{}, named...)
	}
}

// Choose calls a selector, a function of the workers' program, to choose the model of an agent definition. It returns
// any valid default_model except another selector.
type Choose func(selector, agent string) (model string, err error)

// Choosing returns the configuration with plans in which choose has replaced selectors by models. After the first
// failure in a plan, choose is not called again.
func (c *Config) Choosing(choose Choose) *Config {
	out := *c
	out.choose = choose
	return &out
}

// chosen returns the provider that a selector chooses for an agent. Any other provider is returned unchanged.
func (r *resolver) chosen(w work, o override) *override {
	selects := o.entry.Type == config.ProviderSelector && r.choose != nil && !r.unchosen
	if !selects || r.KeyProblem(plannedProvider(o.entry, o.name, "", config.NativeTools{})) != "" {
		return &o
	}
	var entry *config.Provider
	model, err := r.choose(o.entry.Model, w.definition)
	if err == nil {
		entry, err = r.named(model)
	}
	if err != nil {
		r.unchosen = true
		r.problems = append(r.problems, fmt.Sprintf("agent %s: the selector %q: %v", w.definition, o.entry.Model, err))
		return &o
	}
	return &override{model, entry}
}

// maxChosen is the maximum length of a model's name from a selector, in bytes.
const maxChosen = 200

// named returns the provider of a model's name that a selector has returned.
func (r *resolver) named(model string) (*config.Provider, error) {
	unprintable := func(c rune) bool { return !unicode.IsPrint(c) }
	switch {
	case model == "":
		return nil, errors.New("it returned no model")
	case len(model) > maxChosen || !utf8.ValidString(model) || strings.ContainsFunc(model, unprintable):
		return nil, fmt.Errorf("it returned a model name that is longer than %d bytes or has unprintable characters", maxChosen)
	}
	entry, known := r.LLMProviders[model]
	if !known {
		var err error
		if entry, err = r.described(model); err != nil {
			return nil, err
		}
	}
	if entry.Type == config.ProviderSelector {
		return nil, fmt.Errorf("it returned %q, which is another selector", model)
	}
	return entry, nil
}

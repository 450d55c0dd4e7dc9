package config

import (
	"maps"
	"slices"
	"strings"
)

// defineModels adds entries for models that agents only describe ("openai:gpt-4o"), because all other code refers to
// providers by name (spec: tools, "Model descriptor").
func (c *Config) defineModels() {
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		c.defineModel(name)
	}
}

func (c *Config) defineModel(agent string) {
	model, p := c.modelOf(agent)
	c.Agents[agent].model = model
	if _, known := c.LLMProviders[model]; known || model == "" {
		return
	}
	entry, err := c.described(model)
	if err != nil {
		c.report.Fail(p, "%v", err)
		return
	}
	c.LLMProviders[model] = entry
	c.report.Alias(entryPath("llm_providers", model), p)
}

// modelOf returns the model of an agent or of its role, and the path where it is written.
func (c *Config) modelOf(name string) (model string, at path) {
	a, p := c.Agents[name], entryPath("agents", name)
	if a.ModelRole == "" {
		return a.DefaultModel, p.Key("default_model")
	}
	model, known := c.Defaults.ModelRoles[a.ModelRole]
	switch {
	case a.DefaultModel != "":
		c.report.Fail(p.Key("model_role"), "the agent has a default_model as well: only one of them may be there")
	case !known:
		c.report.Fail(p.Key("model_role"), "defaults.model_roles has no %q; there are: %s", a.ModelRole, list(c.Defaults.ModelRoles))
	}
	return model, path{}.Key("defaults").Key("model_roles").Key(a.ModelRole)
}

// described returns the provider for a descriptor: provider:model, or the name of an OpenAI model.
func (c *Config) described(model string) (*Provider, error) {
	if !strings.Contains(model, ":") {
		model = ProviderOpenAI + ":" + model
	}
	found, err := (&resolver{Config: c}).providerFor(model)
	if err != nil {
		return nil, err
	}
	entry := *found.entry
	entry.described = true
	return &entry, nil
}

// override is the provider that a request selects for every agent.
type override struct {
	name  string // as in the request
	entry *Provider
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
		entry = &Provider{Type: name}
	}
	if !ok && name == ProviderAzure || model == "" || entry.row().plan == "" {
		return nil, planError("no provider %q; there are: %s; or provider:model with one of those, %s",
			descriptor, strings.Join(slices.Sorted(maps.Keys(r.LLMProviders)), ", "), askable())
	}
	withModel := *entry
	withModel.Model = model
	return &override{descriptor, &withModel}, nil
}

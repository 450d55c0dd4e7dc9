package config

import (
	"maps"
	"slices"
	"strings"
)

// defineModels gives the models that agents only describe ("openai:gpt-4o")
// entries of their own: all else knows providers by their names (spec: tools,
// "Model descriptor").
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

// modelOf is the model that an agent names, or that its role has, and where that is written.
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

// described is the provider that a descriptor stands for: provider:model, or a
// model of OpenAI's.
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

// override is the provider that a request asks for, in place of every agent's own.
type override struct {
	name  string // as the request has it
	entry *Provider
}

// providerFor finds what a request asks for: an entry, or "provider:model"
// where the provider is an entry or a type. Nil if it asks for nothing.
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

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
		model := c.Agents[name].DefaultModel
		if _, known := c.LLMProviders[model]; known || model == "" {
			continue
		}
		p := entryPath("agents", name).key("default_model")
		entry, err := c.described(model)
		if err != nil {
			c.report.fail(p, "%v", err)
			continue
		}
		c.LLMProviders[model] = entry
		c.report.at[entryPath("llm_providers", model).text] = c.report.position(p)
	}
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

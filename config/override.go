package config

import (
	"maps"
	"slices"
	"strings"
)

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

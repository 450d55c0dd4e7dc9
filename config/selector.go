package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
	if o.entry.Type != ProviderSelector || r.choose == nil || r.unchosen || r.KeyProblem(o.entry.plan(o.name, "", NativeTools{})) != "" {
		return &o
	}
	var entry *Provider
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
func (r *resolver) named(model string) (*Provider, error) {
	unprintable := func(c rune) bool { return !unicode.IsPrint(c) }
	switch {
	case model == "":
		return nil, errors.New("it names no model")
	case len(model) > maxChosen || !utf8.ValidString(model) || strings.ContainsFunc(model, unprintable):
		return nil, fmt.Errorf("the name that it returns is longer than %d bytes, or has characters that cannot be printed", maxChosen)
	}
	entry, known := r.LLMProviders[model]
	if !known {
		var err error
		if entry, err = r.described(model); err != nil {
			return nil, err
		}
	}
	if entry.Type == ProviderSelector {
		return nil, fmt.Errorf("it names %q, which is a selector again", model)
	}
	return entry, nil
}

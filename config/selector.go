package config

import (
	"errors"
	"fmt"
)

// Choose asks a selector, which is a function of the workers' program, for the model of an agent: it returns what a
// default_model may be, but no other selector.
type Choose func(selector, agent string) (model string, err error)

// Choosing is the configuration with plans in which models stand that choose has named, in the places of selectors.
func (c *Config) Choosing(choose Choose) *Config {
	out := *c
	out.choose = choose
	return &out
}

// chosen is what a selector names for an agent; what is no selector stands for itself.
func (r *resolver) chosen(w work, o override) *override {
	if o.entry.Type != ProviderSelector || r.choose == nil || r.KeyProblem(o.entry.plan(o.name, "", NativeTools{})) != "" {
		return &o
	}
	var found *override
	model, err := r.choose(o.entry.Model, w.name)
	if err == nil {
		found, err = r.providerFor(model)
	}
	switch {
	case err != nil:
	case found == nil:
		err = errors.New("it names no model")
	case found.entry.Type == ProviderSelector:
		err = fmt.Errorf("it names %q, which is a selector again", model)
	default:
		return found
	}
	r.problems = append(r.problems, fmt.Sprintf("agent %s: the selector %q: %v", w.name, o.entry.Model, err))
	return &o
}

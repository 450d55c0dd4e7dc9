package config

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/spell"
)

// Rules that several types share. An empty value means not set.

const maxName = 64 // characters

// nameProblem says why a text cannot be a name, which becomes part of ids. It returns an empty string for a valid name.
func nameProblem(name string) string {
	if utf8.RuneCountInString(name) > maxName {
		return "a name has at most 64 characters"
	}
	solid := false
	for _, r := range name {
		switch letter := unicode.IsLetter(r) || unicode.IsDigit(r); {
		case letter:
			solid = true
		case !strings.ContainsRune(" _-.", r):
			return "a name has only letters, digits, spaces and _ - . in it"
		}
	}
	switch {
	case !solid:
		return "a name needs a letter or digit"
	case strings.TrimSpace(name) != name:
		return "a name must not begin or end with a space"
	}
	return ""
}

// name checks the name of the entry at p.
func (v *validator) name(p path) {
	if problem := nameProblem(p.Name); problem != "" {
		v.Errorf(p, "%s", problem)
	}
}

func (v *validator) requiredName(p path, name string) {
	if name == "" {
		v.Errorf(p, "a name is required")
	} else if problem := nameProblem(name); problem != "" {
		v.Errorf(p, "%s", problem)
	}
}

// agent reports whether there is an agent of that name, and adds a finding if not.
func (v *validator) agent(p path, name string) bool {
	return reference(v, p, "agent", name, v.Agents)
}

func (v *validator) provider(p path, name string) {
	if name != "" {
		reference(v, p, "LLM provider", name, v.LLMProviders)
	}
}

func (v *validator) servers(p path, names []string) {
	for i, name := range names {
		if reference(v, p.Index(i), "MCP server", name, v.MCPServers) && slices.Index(names, name) < i {
			v.Errorf(p.Index(i), "the MCP server %q is named twice", name)
		}
	}
}

// reachable checks that the backend at p can reach a provider, if both are known.
func (v *validator) reachable(p path, provider, backend string) {
	if pr := v.LLMProviders[provider]; pr != nil && canonical(backend) == BackendNativeGemini && !pr.native() {
		v.Errorf(p, "%s needs a provider of type google or anthropic; %q is of type %q", backend, provider, pr.Type)
	}
}

func reference[T any](v *validator, p path, kind, name string, there map[string]T) bool {
	_, ok := there[name]
	if !ok {
		v.Errorf(p, "no %s named %q%s", kind, name, spell.DidYouMean(name, slices.Collect(maps.Keys(there))))
	}
	return ok
}

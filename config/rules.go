package config

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Rules that several types share. An empty value is one that is not set.

const maxName = 64 // characters

// nameProblem says why a text cannot be a name, which becomes part of ids; "" = it can.
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
	if problem := nameProblem(p.name); problem != "" {
		v.errorf(p, "%s", problem)
	}
}

func (v *validator) requiredName(p path, name string) {
	if name == "" {
		v.errorf(p, "a name is required")
	} else if problem := nameProblem(name); problem != "" {
		v.errorf(p, "%s", problem)
	}
}

func (v *validator) atLeast(p path, n *int, least int) {
	if n != nil && *n < least {
		v.errorf(p, "%s must be at least %d", p.name, least)
	}
}

func (v *validator) oneOf(p path, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		v.errorf(p, "must be one of %s, got %q%s", strings.Join(allowed, ", "), value, didYouMean(value, allowed))
	}
}

func (v *validator) backend(p path, name string) {
	switch name {
	case "native-gemini", "google-native":
		v.errorf(p, "%q is not supported yet", name)
	default:
		v.oneOf(p, name, "langchain")
	}
}

func (v *validator) successPolicy(p path, policy agent.SuccessPolicy) {
	v.oneOf(p, string(policy), string(agent.SuccessAny), string(agent.SuccessAll))
}

func (v *validator) risk(p path, risk agent.Risk) {
	v.oneOf(p, string(risk), string(agent.RiskReadOnly), string(agent.RiskWrite), string(agent.RiskDestructive),
		"low", "medium", "high", "critical", "unknown")
}

// agentType returns the row of a type, and reports a name that has none.
func (v *validator) agentType(p path, name string) (agent.Type, bool) {
	row, ok := agent.LookupType(name)
	switch {
	case ok:
	case agent.PlannedType(name):
		v.errorf(p, "%q is not supported yet", name)
	default:
		var names []string
		for _, t := range agent.Types() {
			names = append(names, t.Name)
		}
		v.oneOf(p, name, names...)
	}
	return row, ok
}

// agent reports whether there is an agent of that name, and says so if not.
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
		if reference(v, p.index(i), "MCP server", name, v.MCPServers) && slices.Index(names, name) < i {
			v.errorf(p.index(i), "the MCP server %q is named twice", name)
		}
	}
}

func (v *validator) fallbacks(p path, all []Fallback) {
	for i, f := range all {
		if f.Provider == "" {
			v.errorf(p.index(i).key("provider"), "a provider is required")
		}
		v.provider(p.index(i).key("provider"), f.Provider)
		v.backend(p.index(i).key("backend"), f.Backend)
	}
}

func reference[T any](v *validator, p path, kind, name string, there map[string]T) bool {
	_, ok := there[name]
	if !ok {
		v.errorf(p, "no %s named %q%s", kind, name, didYouMean(name, slices.Collect(maps.Keys(there))))
	}
	return ok
}

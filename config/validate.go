package config

import (
	"maps"
	"slices"
)

// validator is what the validate methods of the types report to.
type validator struct {
	*Config
	*report
	unaskedBy map[string]bool // see unasked
}

// validate checks everything; each type checks itself.
func (c *Config) validate() {
	v := &validator{Config: c, report: c.report}
	v.alertTypes()
	v.variables()
	checker{report: v.report, words: vocabularyOf, also: v.hazards}.check(c)
	c.Defaults.validate(path{}.key("defaults"), v)
	each(c.Agents, "agents", v)
	each(c.AgentChains, "agent_chains", v)
	each(c.MCPServers, "mcp_servers", v)
	each(c.LLMProviders, "llm_providers", v)
	v.prompts()
	c.System.Store.validate(path{}.key("system").key("store"), v)
	v.native()
	if !c.skipCredentials {
		v.credentials()
	}
	v.tightBounds()
}

func each[T interface{ validate(path, *validator) }](entries map[string]T, section string, v *validator) {
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entries[name].validate(entryPath(section, name), v)
	}
}

// alertTypes gives every alert type to one chain. The user's chains come
// first: what they take, a built-in chain no longer has.
func (v *validator) alertTypes() {
	v.chainOf = map[string]string{}
	for _, ours := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(v.AgentChains)) {
			p := entryPath("agent_chains", name)
			if v.builtIn(p) != ours {
				continue
			}
			for i, alertType := range v.AgentChains[name].AlertTypes {
				v.alertType(p.key("alert_types").index(i), name, alertType)
			}
		}
	}
}

func (v *validator) alertType(p path, chain, alertType string) {
	owner, taken := v.chainOf[alertType]
	switch {
	case alertType == "":
		v.errorf(p, "an alert type must not be empty")
	case !taken:
		v.chainOf[alertType] = chain
	case !v.builtIn(p):
		v.errorf(p, "the alert type %q already belongs to the chain %q", alertType, owner)
	}
}

// variables reports what the environment lacks: an error where it is used, a
// warning where nothing the user wrote needs it.
func (v *validator) variables() {
	users := v.users()
	for _, u := range v.unset {
		if !v.served(u.path) {
			continue
		}
		switch used := len(users[u.path.entry]) > 0 || !optional(u.path); {
		case used && !v.builtIn(u.path):
			v.errorf(u.path, "variable %s is not set", u.name)
		case used:
			v.add(SeverityWarning, u.path, "variable %s is not set", u.name)
		default:
			v.add(SeverityWarning, u.path, "variable %s is not set (no chain uses this)", u.name)
		}
	}
	for _, u := range v.unset {
		v.silence(u.path) // what follows from a missing value is not reported
	}
}

// optional reports whether p is within an entry that may be there unused.
func optional(p path) bool {
	for _, section := range []string{"agents", "mcp_servers", "llm_providers"} {
		if parent(p.entry) == section {
			return true
		}
	}
	return false
}

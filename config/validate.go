package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/strict"
)

// validator is passed to the validate methods of the types, which report to it.
type validator struct {
	*Config
	*strict.Report
	unaskedBy map[string]bool    // see unasked
	serverAt  map[string]*Server // by the paths of their entries
}

// validate checks everything; each type checks itself.
func (c *Config) validate() {
	v := &validator{Config: c, Report: c.report, serverAt: map[string]*Server{}}
	for name, s := range c.MCPServers {
		v.serverAt[entryPath("mcp_servers", name).Text] = s
	}
	v.alertTypes()
	v.variables()
	strict.Checker{Report: v.Report, Words: vocabularyOf, Also: v.value}.Check(c)
	v.prompts()
	v.native()
	v.orchestrators()
	if !c.src.SkipCredentials {
		v.credentials()
	}
	v.tightBounds()
	v.serverNames()
}

// serverNames warns of servers whose tools can get the same names for models: both "a_" + ".b" and "a" + "._b" become
// a___b.
func (v *validator) serverNames() {
	for _, name := range slices.Sorted(maps.Keys(v.MCPServers)) {
		if other, ends := strings.CutSuffix(name, "_"); ends && v.MCPServers[other] != nil {
			v.Add(SeverityWarning, entryPath("mcp_servers", name),
				"models may call a tool of %q and one of %q the same, and an agent with both has only one of them: rename a server", other, name)
		}
	}
}

// value checks a value with the validate method of its type, and for hazards.
func (v *validator) value(p path, value reflect.Value, f strict.Field) {
	own := value
	if value.CanAddr() {
		own = value.Addr() // a pointer has all methods
	}
	if typed, ok := own.Interface().(interface{ validate(path, *validator) }); ok {
		typed.validate(p, v)
	}
	v.hazards(p, value, f)
}

// alertTypes assigns every alert type to one chain. The user's chains come first and take types from built-in chains.
func (v *validator) alertTypes() {
	v.chainOf = map[string]string{}
	for _, ours := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(v.AgentChains)) {
			p := entryPath("agent_chains", name)
			if v.BuiltIn(p) != ours {
				continue
			}
			for i, alertType := range v.AgentChains[name].AlertTypes {
				v.alertType(p.Key("alert_types").Index(i), name, alertType)
			}
		}
	}
}

func (v *validator) alertType(p path, chain, alertType string) {
	owner, taken := v.chainOf[alertType]
	switch {
	case alertType == "":
		v.Errorf(p, "an alert type must not be empty")
	case !taken:
		v.chainOf[alertType] = chain
	case !v.BuiltIn(p):
		v.Errorf(p, "the alert type %q already belongs to the chain %q", alertType, owner)
	}
}

// variables reports variables that are missing from the environment: an error if the entry is used, and a warning if
// nothing that the user wrote needs it.
func (v *validator) variables() {
	users := v.users()
	for _, u := range v.Unset {
		if !v.served(u.Path) {
			continue
		}
		switch used := len(users[u.Path.Entry]) > 0 || !optional(u.Path); {
		case used && !v.BuiltIn(u.Path):
			v.Errorf(u.Path, "variable %s is not set", u.Name)
		case used:
			v.Add(SeverityWarning, u.Path, "variable %s is not set", u.Name)
		default:
			v.Add(SeverityWarning, u.Path, "variable %s is not set (no chain uses this)", u.Name)
		}
	}
	for _, u := range v.Unset {
		v.Silence(u.Path) // do not report consequences of a missing value
	}
}

// optional reports whether p is within an entry that may be unused.
func optional(p path) bool {
	for _, section := range []string{"agents", "mcp_servers", "llm_providers"} {
		if strict.Parent(p.Entry) == section {
			return true
		}
	}
	return false
}

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/spell"
	"github.com/inquest-dev/inquest/internal/virtual"
)

// credentials checks the key of every provider that a chain uses. If both the chain and the provider are built in, the
// user asked for neither, and a missing key is only a warning.
func (v *validator) credentials() {
	users := v.users()
	for _, name := range slices.Sorted(maps.Keys(v.LLMProviders)) {
		p := entryPath("llm_providers", name)
		problem := v.KeyProblem(v.LLMProviders[name].plan(name, BackendLangChain, NativeTools{}))
		chains := users[p.Text]
		if problem == "" || len(chains) == 0 {
			continue
		}
		mine := slices.IndexFunc(chains, func(chain string) bool { return !v.BuiltIn(entryPath("agent_chains", chain)) })
		switch {
		case !v.BuiltIn(p):
			v.Errorf(p.Key("api_key_env"), "%s", problem)
		case mine >= 0:
			v.Errorf(entryPath("agent_chains", chains[mine]), "%s", problem)
		default:
			v.Add(SeverityWarning, p, "%s", problem)
		}
	}
}

// KeyProblem describes a problem with a provider's credentials, without revealing them. It returns an empty string if
// there is none.
func (c *Config) KeyProblem(p plan.Provider) string {
	if p.Type == ProviderSelector {
		if slices.Contains(c.src.Selectors, p.Model) {
			return ""
		}
		return fmt.Sprintf("provider %q needs a selector %q of the workers' program%s; there are: %s",
			p.Name, p.Model, spell.DidYouMean(p.Model, c.src.Selectors), registered(c.src.Selectors))
	}
	name, _, _ := strings.Cut(p.Name, ":") // from name:model
	if slices.Contains(c.src.Models, name) || slices.Contains(c.src.Models, "*") {
		return ""
	}
	if p.Type == ProviderProgram {
		return fmt.Sprintf("provider %q needs a model client of the workers' program%s; there are: %s",
			p.Name, spell.DidYouMean(name, c.src.Models), registered(c.src.Models))
	}
	if !variableName.MatchString(p.APIKeyEnv) {
		return "" // no key is needed, or the problem was reported already
	}
	switch key, ok := c.env(p.APIKeyEnv); {
	case !ok:
		return fmt.Sprintf("provider %q needs a key: variable %s is not set", p.Name, p.APIKeyEnv)
	case key == "":
		return fmt.Sprintf("provider %q needs a key: variable %s is empty", p.Name, p.APIKeyEnv)
	}
	return ""
}

// missingKey refuses an agent whose provider has no key, as a worker refuses an agent in YAML.
func (c *Config) missingKey(name string) virtual.Problems {
	a, known := c.Agents[name]
	if !known || c.src.SkipCredentials {
		return nil
	}
	provider, known := c.LLMProviders[a.model]
	if !known {
		return nil // make has reported the model
	}
	if problem := c.KeyProblem(provider.plan(a.model, BackendLangChain, NativeTools{})); problem != "" {
		return virtual.Problems{"config.default_model: " + problem}
	}
	return nil
}

// Needs are what the chains of a configuration need from outside.
type Needs struct {
	Models  []plan.Provider // each once, by name
	Servers []plan.Server   // by name, without built-in servers
	BuiltIn bool            // the user has no chains, so the models are those of the built-in chains
}

// Needs returns the needs of the user's chains, or those of the built-in chains if the user has none.
func (c *Config) Needs() (n Needs) {
	chains := slices.Sorted(maps.Keys(c.AgentChains))
	mine := slices.DeleteFunc(slices.Clone(chains), func(name string) bool { return c.report.BuiltIn(entryPath("agent_chains", name)) })
	if n.BuiltIn = len(mine) == 0; !n.BuiltIn {
		chains = mine
	}
	for _, chain := range chains {
		for _, agent := range AgentsOf(c, chain) {
			n.Models = append(n.Models, agent.Providers...)
		}
	}
	n.Models = slices.DeleteFunc(n.Models, func(p plan.Provider) bool { return p.Type == ProviderSelector })
	slices.SortFunc(n.Models, func(a, b plan.Provider) int { return strings.Compare(a.Name, b.Name) })
	n.Models = slices.CompactFunc(n.Models, func(a, b plan.Provider) bool { return a.Name == b.Name })
	for _, s := range c.ToolPlan().Servers {
		if !c.report.BuiltIn(entryPath("mcp_servers", s.Name)) {
			n.Servers = append(n.Servers, s)
		}
	}
	return n
}

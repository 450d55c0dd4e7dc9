package configuration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/config"
	"github.com/inquest-dev/inquest/internal/kit/spell"
)

// Rules that several types share. An empty value means not set.

const maxName = 64 // characters

// nameProblem says why a text cannot be a name, which becomes part of ids. It returns an empty string for a valid name.
func nameProblem(name string) string {
	if utf8.RuneCountInString(name) > maxName {
		return "a name can have at most 64 characters"
	}
	solid := false
	for _, r := range name {
		switch letter := unicode.IsLetter(r) || unicode.IsDigit(r); {
		case letter:
			solid = true
		case !strings.ContainsRune(" _-.", r):
			return "a name may contain only letters, digits, spaces and _ - ."
		}
	}
	switch {
	case !solid:
		return "a name must contain a letter or digit"
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

// distinct checks that no two keys of the map at p differ only in case, for keys that are used without regard to case.
func (v *validator) distinct(p path, kind string, keys []string) {
	for n, key := range keys {
		for _, other := range keys[:n] {
			if strings.EqualFold(key, other) {
				v.Errorf(p.Key(key), "%s %q differs from %q only in case", kind, key, other)
			}
		}
	}
}

func (v *validator) requiredName(p path, name string) {
	if name == "" {
		v.Errorf(p, "a name is required")
	} else if problem := nameProblem(name); problem != "" {
		v.Errorf(p, "%s", problem)
	}
}

// agent reports whether an agent with that name exists, and adds a finding if not.
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
			v.Errorf(p.Index(i), "MCP server %q is listed twice", name)
		}
	}
}

// reachable checks that the backend at p can reach a provider, if both are known.
func (v *validator) reachable(p path, provider, backend string) {
	if pr := v.LLMProviders[provider]; pr != nil && canonical(backend) == config.BackendNativeGemini && !isNative(pr) {
		v.Errorf(p, "%s needs a provider of type google, anthropic or vertexai; %q is of type %q", backend, provider, pr.Type)
	}
}

func reference[T any](v *validator, p path, kind, name string, entries map[string]T) bool {
	_, ok := entries[name]
	if !ok {
		v.Add(v.absent(), p, "%s", unknownName(kind, name, entries))
	}
	return ok
}

// absent is the severity of the name of an entry that is not in the source.
func (c *content) absent() config.Severity {
	if c.src.Partial {
		return config.SeverityWarning
	}
	return config.SeverityError
}

// unknownName is the error that no entry has the name, with the names that may be meant.
func unknownName[T any](kind, name string, entries map[string]T) string {
	return fmt.Sprintf("unknown %s %q%s", kind, name, spell.Hint(name, slices.Collect(maps.Keys(entries))))
}

// uses returns the entries ("agents.LogAgent") that a chain needs, including the chain itself.
func (c *content) uses(name string) map[string]bool {
	used := map[string]bool{entryPath("agent_chains", name).Text: true}
	for _, server := range c.chainSettings(name).Requests.MCPServers {
		used[entryPath("mcp_servers", server).Text] = true
	}
	for _, w := range c.chainWork(name) {
		used[entryPath("agents", w.definition).Text] = true
		for _, server := range w.Servers {
			used[entryPath("mcp_servers", server).Text] = true
			if provider := c.summaryProvider(server); provider != "" && w.kind.Pattern.Model() {
				used[entryPath("llm_providers", provider).Text] = true
			}
		}
		if !w.kind.Pattern.Model() {
			continue
		}
		if w.PromptKey != "" {
			used[entryPath("prompts", w.PromptKey).Text] = true
		}
		for _, choice := range c.choices(w.settings) {
			used[entryPath("llm_providers", choice.provider).Text] = true
			entry, _, _ := strings.Cut(choice.provider, ":") // from entry:model
			used[entryPath("llm_providers", entry).Text] = true
		}
	}
	return used
}

// users maps every entry in use to the chains that use it, sorted.
func (c *content) users() map[string][]string {
	users := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(c.AgentChains)) {
		for entry := range c.uses(name) {
			users[entry] = append(users[entry], name)
		}
	}
	return users
}

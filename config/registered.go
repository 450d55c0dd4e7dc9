package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/spell"
)

// Clients do not know the names that the workers' program has registered. They only warn of names that a worker would refuse.

// unknown is the severity of a name that this program does not know.
func (v *validator) unknown() Severity {
	if v.src.SkipCredentials {
		return SeverityWarning
	}
	return SeverityError
}

// hook checks the name of a hook. An empty name means none.
func (v *validator) hook(p path, name string) {
	switch {
	case name == "" || slices.Contains(v.src.Hooks, name):
	case v.src.SkipCredentials:
		v.Add(SeverityWarning, p, "a hook is a function of the workers' program: whether it has %q cannot be checked here", name)
	default:
		v.Errorf(p, "this program has no registered hook %q%s; there are: %s",
			name, spell.DidYouMean(name, v.src.Hooks), registered(v.src.Hooks))
	}
}

// mock checks the name of a mock. An empty name means none. If the mock is missing, the agent itself works.
func (v *validator) mock(p path, name string) {
	if name != "" && !slices.Contains(v.src.Mocks, name) && !v.src.SkipCredentials {
		v.Add(SeverityWarning, p, "this program has no registered mock %q%s: the agent works itself; there are: %s",
			name, spell.DidYouMean(name, v.src.Mocks), registered(v.src.Mocks))
	}
}

// prompt checks the name of a prompt. An empty name means none.
func (v *validator) prompt(p path, name string) {
	known := slices.AppendSeq(slices.Clone(v.src.PromptFuncs), maps.Keys(v.Prompts))
	if name != "" && !slices.Contains(known, name) {
		v.Add(v.unknown(), p, "no prompt named %q%s; there are: %s",
			name, spell.DidYouMean(name, known), registered(known))
	}
}

// prompts checks the texts of the prompts.
func (v *validator) prompts() {
	for _, name := range slices.Sorted(maps.Keys(v.Prompts)) {
		p := entryPath("prompts", name)
		v.name(p)
		if err := prompt.Check(v.Prompts[name]); err != nil {
			v.Errorf(p, "%v", err)
		}
	}
}

// validatePrompt checks the agent's system_prompt.
func (a *Agent) validatePrompt(p path, v *validator) {
	if a.SystemPrompt == "" {
		return
	}
	if row := a.row(); !row.Pattern.Model() {
		v.Errorf(p, "an agent of type %q asks no model", row.Name)
	}
	if err := prompt.Check(a.SystemPrompt); err != nil {
		v.Errorf(p, "%v", err)
	}
}

// registered lists the registered names, for messages.
func registered(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// validateTools checks tool_ids. Clients do not know the tools that workers have registered, so they only warn of names
// that a worker would refuse.
func (a *Agent) validateTools(p path, v *validator) {
	if row := a.row(); len(a.ToolIDs) > 0 && !row.Pattern.Tools() {
		v.Errorf(p, "an agent of type %q has no tools", row.Name)
	}
	for i, name := range a.ToolIDs {
		switch at := p.Index(i); {
		case name == AllTools && len(a.ToolIDs) == 1:
		case name == AllTools:
			v.Errorf(at, "%q stands for all tools of the program: remove the other names, or remove it", AllTools)
		case slices.Index(a.ToolIDs, name) < i:
			v.Errorf(at, "the tool %q is named twice", name)
		case !slices.Contains(v.src.Tools, name):
			v.Add(v.unknown(), at, "this program has no registered tool %q%s; there are: %s",
				name, spell.DidYouMean(name, v.src.Tools), registered(v.src.Tools))
		}
	}
}

// AllTools in tool_ids stands for all tools that the workers' program has registered.
const AllTools = "*"

// toolIDs returns the registered tools of an agent, with AllTools replaced by their names. It returns nil if the agent has none
// or is not defined.
func (c *Config) toolIDs(definition string) []string {
	def, ok := c.Agents[definition]
	switch {
	case !ok:
		return nil
	case slices.Equal(def.ToolIDs, []string{AllTools}):
		return notEmpty(slices.Sorted(slices.Values(c.src.Tools)))
	}
	return notEmpty(def.ToolIDs)
}

package config

import (
	"slices"

	"github.com/inquest-dev/inquest/internal/spell"
)

// validateTools checks tool_ids. Clients run none of these tools, and so cannot
// know them: what a worker refuses, they warn of.
func (a *Agent) validateTools(p path, v *validator) {
	if row := a.row(); len(a.ToolIDs) > 0 && !row.Pattern.Tools() {
		v.Errorf(p, "an agent of type %q has no tools", row.Name)
	}
	for i, name := range a.ToolIDs {
		switch at := p.Index(i); {
		case slices.Index(a.ToolIDs, name) < i:
			v.Errorf(at, "the tool %q is named twice", name)
		case !slices.Contains(v.tools, name):
			v.Add(v.unknown(), at, "this program has no registered tool %q%s; there are: %s", name, spell.DidYouMean(name, v.tools), registered(v.tools))
		}
	}
}

// toolIDs are the tool_ids of a definition; nil if there is none.
func (c *Config) toolIDs(definition string) []string {
	if def, ok := c.Agents[definition]; ok {
		return notEmpty(def.ToolIDs)
	}
	return nil
}

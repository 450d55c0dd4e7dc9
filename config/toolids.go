package config

import (
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
)

// validateTools checks tool_ids. Clients run none of these tools, and so cannot
// know them: what a worker refuses, they warn of.
func (a *Agent) validateTools(p path, v *validator) {
	if row := a.row(); len(a.ToolIDs) > 0 && row.Pattern == agent.SingleShot {
		v.errorf(p, "an agent of type %q has no tools", row.Name)
	}
	unknown := SeverityError
	if v.skipCredentials {
		unknown = SeverityWarning
	}
	for i, name := range a.ToolIDs {
		switch at := p.index(i); {
		case slices.Index(a.ToolIDs, name) < i:
			v.errorf(at, "the tool %q is named twice", name)
		case !slices.Contains(v.tools, name):
			v.add(unknown, at, "this program has no registered tool %q%s; there are: %s", name, didYouMean(name, v.tools), v.registered())
		}
	}
}

// registered names the tools of the program.
func (c *Config) registered() string {
	if len(c.tools) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(slices.Values(c.tools)), ", ")
}

// toolIDs are the tool_ids of a definition; nil if there is none.
func (c *Config) toolIDs(definition string) []string {
	if def, ok := c.Agents[definition]; ok {
		return notEmpty(def.ToolIDs)
	}
	return nil
}

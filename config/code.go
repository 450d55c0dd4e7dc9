package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/spell"
)

// What a configuration names of the workers' program, clients cannot check: what a
// worker refuses, they warn of.

// unknown is how bad a name is that this program does not know.
func (v *validator) unknown() Severity {
	if v.skipCredentials {
		return SeverityWarning
	}
	return SeverityError
}

// hook checks the name of a hook; "" is none.
func (v *validator) hook(p path, name string) {
	switch {
	case name == "" || slices.Contains(v.hooks, name):
	case v.skipCredentials:
		v.Add(SeverityWarning, p, "a hook is a function of the workers' program: whether it has %q cannot be checked here", name)
	default:
		v.Errorf(p, "this program has no registered hook %q%s; there are: %s", name, spell.DidYouMean(name, v.hooks), registered(v.hooks))
	}
}

// mock checks the name of a mock; "" is none. Without it, the agent works itself.
func (v *validator) mock(p path, name string) {
	if name != "" && !slices.Contains(v.mocks, name) && !v.skipCredentials {
		v.Add(SeverityWarning, p, "this program has no registered mock %q%s: the agent works itself; there are: %s",
			name, spell.DidYouMean(name, v.mocks), registered(v.mocks))
	}
}

// prompt checks the name of a prompt; "" is none.
func (v *validator) prompt(p path, name string) {
	if _, ok := v.Prompts[name]; name != "" && !ok {
		v.Add(v.unknown(), p, "no prompt named %q%s; there are: %s", name, spell.DidYouMean(name, slices.Collect(maps.Keys(v.Prompts))), list(v.Prompts))
	}
}

// prompts checks the texts themselves.
func (v *validator) prompts() {
	for _, name := range slices.Sorted(maps.Keys(v.Prompts)) {
		p := entryPath("prompts", name)
		v.name(p)
		if err := prompt.Check(v.Prompts[name]); err != nil {
			v.Errorf(p, "%v", err)
		}
	}
}

// registered names what a program has registered.
func registered(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

package config

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/programs"
	"github.com/inquest-dev/inquest/internal/sandbox"
)

// What allow_options may be.
const (
	optionsChecked = "checked"
	optionsAll     = "all"
)

// warn says what is dangerous about the shell, and what this host cannot keep of it.
func (s Shell) warn(p path, v *validator) {
	options := cmp.Or(s.AllowOptions, v.Defaults.Shell.AllowOptions)
	for i, command := range s.Allow {
		text, open := programs.Warning(command, options == optionsAll)
		severity := SeverityWarning
		if open {
			severity = SeverityDanger
		}
		if text != "" {
			v.Add(severity, p.Key("allow").Index(i), "%s; instead: allow the commands that are needed (docs/shell.md)", text)
		}
	}
	if err := sandbox.CheckFolder(s.Dir); s.Dir != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.Add(SeverityDanger, p.Key("dir"), "commands are refused here: %v", err)
	}
	for key, err := range s.unkept() {
		v.Add(SeverityWarning, p.Key(key), "%v", err)
	}
}

// unkept says which of its rules this host cannot keep, by their keys.
func (s Shell) unkept() map[string]error {
	lacking := map[string]error{}
	if s.Confine == plan.ConfineIfPossible || s.Confine == plan.ConfineRequired {
		lacking["confine"] = sandbox.Confinement()
	}
	if s.offline() {
		lacking["network"] = sandbox.Offline()
	}
	maps.DeleteFunc(lacking, func(_ string, err error) bool { return err == nil })
	return lacking
}

func (s Shell) offline() bool { return s.Network != nil && !*s.Network }

// Unkept says what the shells of a configuration ask for and this host cannot do:
// there, commands are not confined, or refused if that is required.
func (c *Config) Unkept() (lacking []error) {
	shells := []Shell{c.Defaults.Shell}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		shells = append(shells, c.Agents[name].Shell)
	}
	for _, s := range shells {
		for _, key := range slices.Sorted(maps.Keys(s.unkept())) {
			err := s.unkept()[key]
			if !slices.ContainsFunc(lacking, func(other error) bool { return other.Error() == err.Error() }) {
				lacking = append(lacking, err)
			}
		}
	}
	return lacking
}

package config

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/plan"
	"github.com/inquest-dev/inquest/internal/programs"
	"github.com/inquest-dev/inquest/internal/sandbox"
)

// Shell limits the shell tool of the types that have one.
type Shell struct {
	// Enabled turns the shell on.
	Enabled *bool `yaml:"enabled"`
	// Allow lists the commands that may be run, by their bare names.
	Allow []string `yaml:"allow" default:"all commands"`
	// AllowOptions says which options the commands in allow may have: with checked, only those that are known to start
	// no other program and write no file (docs/reference/shell.md); or all.
	AllowOptions string `yaml:"allow_options" enum:"allowed options" default:"checked"`
	// Timeout limits one command.
	Timeout plan.Duration `yaml:"timeout"`
	// MaxOutput is the length at which the output of a command is cut off.
	MaxOutput *int `yaml:"max_output" min:"1" unit:"bytes"`
	// Dir is the working directory and home of commands. No other user may be able to write there.
	Dir string `yaml:"dir" default:"a new folder for each command, removed afterwards"`
	// Confine lets commands write only in their own directory. If the host cannot enforce this (it needs Linux 6.2),
	// required refuses all commands.
	Confine plan.Confinement `yaml:"confine" enum:"confinement" default:"never"`
	// Network lets commands open sockets. If the host cannot prevent it (that needs Linux on amd64 or arm64), false
	// refuses all commands.
	Network *bool `yaml:"network" default:"true"`
	// Risk says what effect commands can have.
	Risk agent.Risk `yaml:"risk" enum:"risk"`
}

func (s Shell) validate(p path, v *validator) {
	for i, command := range s.Allow {
		if command == "" || strings.ContainsAny(command, " \t\r\n/") {
			v.Errorf(p.Key("allow").Index(i), "must be the bare name of a command, got %q", command)
		}
	}
	if !v.BuiltIn(p) {
		s.warn(p, v)
	}
}

// shell returns the shell's part of a plan, or nil unless it is enabled.
func (c *Config) shell(s Shell) *plan.Shell {
	if !value(s.Enabled) {
		return nil
	}
	return &plan.Shell{
		Allow: s.Allow, AllOptions: s.AllowOptions == optionsAll, Timeout: s.Timeout, MaxOutput: value(s.MaxOutput),
		Dir: s.Dir, Risk: s.Risk, Confine: s.Confine, Offline: s.offline(),
		Masking: c.Defaults.AlertMasking.plan(),
	}
}

// The values of allow_options.
const (
	optionsChecked = "checked"
	optionsAll     = "all"
)

// warn reports the dangers of the shell, and the limits that this host cannot enforce.
func (s Shell) warn(p path, v *validator) {
	options := cmp.Or(s.AllowOptions, v.Defaults.Shell.AllowOptions)
	for i, command := range s.Allow {
		if command == "" || strings.ContainsAny(command, "/\\ ") {
			continue // it can never run, which is reported elsewhere
		}
		if _, known := programs.Find(command); !known {
			v.Add(SeverityWarning, p.Key("allow").Index(i), "%s is not known: nothing is checked, so it may do whatever its options offer "+
				"(docs/reference/shell.md)", command)
			continue
		}
		text, open := programs.Warning(command, options == optionsAll)
		severity := SeverityWarning
		if open {
			severity = SeverityDanger
		}
		if text != "" {
			v.Add(severity, p.Key("allow").Index(i), "%s; instead: allow the commands that are needed (docs/reference/shell.md)", text)
		}
	}
	if err := sandbox.CheckFolder(s.Dir); s.Dir != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
		v.Add(SeverityDanger, p.Key("dir"), "commands are refused here: %v", err)
	}
	for key, err := range s.unkept() {
		v.Add(SeverityWarning, p.Key(key), "%v", err)
	}
}

// unkept returns the limits that this host cannot enforce, by key.
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

// Unkept returns the limits in a configuration's shells that this host cannot enforce. On such a host, commands run
// unconfined, or are refused if confinement is required.
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

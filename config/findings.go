package config

import "github.com/inquest-dev/inquest/internal/strict"

// The findings in a configuration, and the origins of values.
type (
	Severity = strict.Severity
	Finding  = strict.Finding
	Findings = strict.Findings
	From     = strict.From
	Shown    = strict.Shown
	Env      = strict.Env

	path   = strict.Path
	origin = strict.Origin
)

// entryPath returns the path of a named entry of a section.
func entryPath(section, name string) path { return path{}.Key(section).Key(name) }

// The severities, worst first.
const (
	SeverityCritical = strict.SeverityCritical // a file cannot be read
	SeverityError    = strict.SeverityError    // the configuration is refused
	SeverityDanger   = strict.SeverityDanger   // accepted, but can do harm
	SeverityWarning  = strict.SeverityWarning  // accepted, but worth checking
)

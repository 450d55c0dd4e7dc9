package config

import (
	"fmt"
	"slices"
	"strings"
)

// Severity is the effect of a finding on the configuration.
type Severity string

// The severities, worst first.
const (
	SeverityCritical Severity = "critical" // a file cannot be read
	SeverityError    Severity = "error"    // the configuration is refused
	SeverityDanger   Severity = "danger"   // accepted, but can do harm
	SeverityWarning  Severity = "warning"  // accepted, but worth checking
)

// Finding is one problem of a configuration.
type Finding struct {
	Severity Severity `json:"severity"`
	// Path leads to the value: agent_chains.triage.stages[1].agents[0].
	Path string `json:"path,omitempty"`
	// File is relative to the configuration's directory; built-in files begin with "builtin/".
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // from 1; zero means the whole file
	Message string `json:"message"`
}

// String formats a finding like a compiler: file:line: path: message.
func (f Finding) String() string {
	var parts []string
	switch {
	case f.Line > 0:
		parts = append(parts, fmt.Sprintf("%s:%d", f.File, f.Line))
	case f.File != "":
		parts = append(parts, f.File)
	}
	if f.Accepted() {
		parts = append(parts, string(f.Severity))
	}
	if f.Path != "" {
		parts = append(parts, f.Path)
	}
	return strings.Join(append(parts, f.Message), ": ")
}

// Accepted reports whether a configuration with the finding can be used.
func (f Finding) Accepted() bool {
	return f.Severity == SeverityDanger || f.Severity == SeverityWarning
}

// Findings holds all problems of a configuration: dangers first, and then by file and line.
type Findings []Finding

// Error lists all findings, one per line.
func (fs Findings) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Failed reports whether the configuration is refused because of a finding that is not accepted.
func (fs Findings) Failed() bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return !f.Accepted() })
}

// Count returns the number of findings with a severity.
func (fs Findings) Count(severity Severity) (n int) {
	for _, f := range fs {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

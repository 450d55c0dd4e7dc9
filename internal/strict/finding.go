package strict

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/inquest-dev/inquest/config"
)

// The findings of this package, which programs read as types of the package config.
type (
	Severity = config.Severity
	Finding  = config.Finding
	Findings = config.Findings
)

// The severities, worst first.
const (
	SeverityCritical = config.SeverityCritical
	SeverityError    = config.SeverityError
	SeverityDanger   = config.SeverityDanger
	SeverityWarning  = config.SeverityWarning
)

// MaxFindings is how many findings Capped keeps.
const MaxFindings = 200

// Capped sorts the findings. If there are too many, it keeps the worst ones and adds the number of the others.
func Capped(fs Findings) Findings {
	sortFindings(fs)
	if len(fs) <= MaxFindings {
		return fs
	}
	worst := func(f Finding) int {
		return slices.Index([]Severity{SeverityCritical, SeverityError, SeverityDanger, SeverityWarning}, f.Severity)
	}
	slices.SortStableFunc(fs, func(a, b Finding) int { return cmp.Compare(worst(a), worst(b)) })
	more := Finding{Severity: fs[MaxFindings].Severity, Message: fmt.Sprintf("further findings: %d", len(fs)-MaxFindings)}
	kept := fs[:MaxFindings:MaxFindings]
	sortFindings(kept)
	return append(kept, more)
}

// sortFindings puts dangers first, and sorts by file and line.
func sortFindings(fs Findings) {
	later := func(f Finding) int {
		if f.Severity == SeverityDanger {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(later(a), later(b)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
}

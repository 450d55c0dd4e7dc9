package strict

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// position says where a value was written.
type position struct {
	file    string
	line    int
	builtIn bool
	entry   string // from the value's path
}

// unsetVariable is a variable that a value needs and the environment does not have. Whether that matters depends on the
// use of the entry.
type unsetVariable struct {
	Path Path
	Name string
}

// Report collects findings and records where everything was written.
type Report struct {
	Findings Findings
	Unset    []unsetVariable
	at       map[string]position // by path
	// templates are the values with variables, as they were written, for display. Late values are not included.
	templates map[string]string // by path
	// broken are the paths without a usable value. Nothing more is reported about them.
	broken map[string]bool
}

// NewReport returns an empty report.
func NewReport() *Report {
	return &Report{at: map[string]position{}, templates: map[string]string{}, broken: map[string]bool{}}
}

// Errorf reports that the value at p is refused.
func (r *Report) Errorf(p Path, format string, args ...any) {
	r.Add(SeverityError, p, format, args...)
}

// Add reports a finding about the value at p.
func (r *Report) Add(severity Severity, p Path, format string, args ...any) {
	if r.isBroken(p) {
		return
	}
	where := r.position(p)
	r.add(Finding{Severity: severity, Path: p.Text, File: where.file, Line: where.line}, format, args...)
}

func (r *Report) add(f Finding, format string, args ...any) {
	f.Message = clip.Line(fmt.Sprintf(format, args...), maxMessage)
	r.Findings = append(r.Findings, f)
}

const maxMessage = 500 // characters, because a message may quote text of any size

// Unreadable reports that a whole file cannot be read. Line zero means that no line is known.
func (r *Report) Unreadable(file string, line int, format string, args ...any) {
	r.add(Finding{Severity: SeverityCritical, File: file, Line: line}, format, args...)
}

// Fail reports that the value at p cannot be used, and suppresses all consequences.
func (r *Report) Fail(p Path, format string, args ...any) {
	r.Errorf(p, format, args...)
	r.Silence(p)
}

// Silence suppresses further findings about the value at p.
func (r *Report) Silence(p Path) { r.broken[p.Text] = true }

// WarnFile reports a warning about a whole file.
func (r *Report) WarnFile(file, format string, args ...any) {
	r.add(Finding{Severity: SeverityWarning, File: file}, format, args...)
}

func (r *Report) isBroken(p Path) bool {
	for text := p.Text; text != ""; text = Parent(text) {
		if r.broken[text] {
			return true
		}
	}
	return false
}

// position returns where p was written, or else the closest value that contains it.
func (r *Report) position(p Path) position {
	for text := p.Text; text != ""; text = Parent(text) {
		if where, ok := r.at[text]; ok {
			return where
		}
	}
	return position{}
}

// BuiltIn reports whether the value at p is built in and the user has not replaced it.
func (r *Report) BuiltIn(p Path) bool { return r.position(p).builtIn }

// Written reports whether something was written at p itself.
func (r *Report) Written(p Path) bool {
	_, ok := r.at[p.Text]
	return ok
}

// Note records the position of a value that is in no file.
func (r *Report) Note(p Path, file string, line int) {
	r.at[p.Text] = position{file: file, line: line, entry: p.Entry}
}

// Alias gives the value at p the position of at.
func (r *Report) Alias(p, at Path) { r.at[p.Text] = r.position(at) }

// Entries returns the paths of the entries that the user wrote.
func (r *Report) Entries() map[string]bool {
	all := map[string]bool{}
	for text, where := range r.at {
		if text == where.entry && !where.builtIn {
			all[text] = true
		}
	}
	return all
}

// Template returns the text that was written at p, or the given text if it had no variables.
func (r *Report) Template(p Path, text string) string {
	return cmp.Or(r.templates[p.Text], text)
}

// Adopt adds the records of built-in entries that the user has not replaced. The values of the section merged are
// replaced one by one.
func (r *Report) Adopt(base *Report, merged string) {
	r.Findings = append(r.Findings, base.Findings...)
	replaced := func(text, entry string) bool {
		if strings.HasPrefix(entry, merged+".") {
			entry = text
		}
		where, ok := r.at[entry]
		return ok && !where.builtIn
	}
	for _, u := range base.Unset {
		if !replaced(u.Path.Text, u.Path.Entry) {
			r.Unset = append(r.Unset, u)
		}
	}
	for text, where := range base.at {
		if replaced(text, where.entry) {
			continue
		}
		r.at[text] = where
		if template, ok := base.templates[text]; ok {
			r.templates[text] = template
		}
	}
}

// Fork returns a report for more of the same configuration. It keeps the recorded positions and has no findings.
func (r *Report) Fork() *Report {
	return &Report{Unset: r.Unset, at: maps.Clone(r.at), templates: maps.Clone(r.templates), broken: maps.Clone(r.broken)}
}

package config

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
)

// position says where a value was written.
type position struct {
	file    string
	line    int
	builtIn bool
	entry   string // of the value's path
}

// unset is a variable that a value needs and the environment does not have.
// Whether that matters depends on who uses the entry.
type unset struct {
	path path
	name string
}

// report collects what is found, and where everything was written.
type report struct {
	findings Findings
	at       map[string]position // by path
	unset    []unset
	// templates are the values that were written with variables, as they were
	// written: what is shown to people. Late values are not among them.
	templates map[string]string // by path
	// broken are the paths without a usable value: nothing more is said of them.
	broken map[string]bool
}

func newReport() *report {
	return &report{at: map[string]position{}, templates: map[string]string{}, broken: map[string]bool{}}
}

// errorf reports that the value at p is refused.
func (r *report) errorf(p path, format string, args ...any) {
	r.add(SeverityError, p, format, args...)
}

func (r *report) add(severity Severity, p path, format string, args ...any) {
	if r.isBroken(p) {
		return
	}
	where := r.position(p)
	r.findings = append(r.findings, Finding{
		Severity: severity, Path: p.text, File: where.file, Line: where.line,
		Message: clip(fmt.Sprintf(format, args...)),
	})
}

const maxMessage = 500 // characters; what a message quotes can be of any size

func clip(message string) string {
	if utf8.RuneCountInString(message) <= maxMessage {
		return message
	}
	return string([]rune(message)[:maxMessage]) + "…"
}

// unreadable reports that a whole file cannot be read. Line 0 = no line is known.
func (r *report) unreadable(file string, line int, format string, args ...any) {
	r.findings = append(r.findings, Finding{
		Severity: SeverityCritical, File: file, Line: line, Message: clip(fmt.Sprintf(format, args...)),
	})
}

// fail reports that the value at p cannot be used; what follows from that is not reported.
func (r *report) fail(p path, format string, args ...any) {
	r.errorf(p, format, args...)
	r.silence(p)
}

// silence: nothing more is said of the value at p.
func (r *report) silence(p path) { r.broken[p.text] = true }

// warnFile reports something odd about a whole file.
func (r *report) warnFile(file, format string, args ...any) {
	r.findings = append(r.findings, Finding{
		Severity: SeverityWarning, File: file, Message: clip(fmt.Sprintf(format, args...)),
	})
}

func (r *report) isBroken(p path) bool {
	for text := p.text; text != ""; text = parent(text) {
		if r.broken[text] {
			return true
		}
	}
	return false
}

// position finds where p was written, or else the closest thing around it.
func (r *report) position(p path) position {
	for text := p.text; text != ""; text = parent(text) {
		if where, ok := r.at[text]; ok {
			return where
		}
	}
	return position{}
}

// builtIn reports whether the entry at p is ours and the user has not replaced it.
func (r *report) builtIn(p path) bool { return r.position(p).builtIn }

// written reports whether something was written at p itself.
func (r *report) written(p path) bool {
	_, ok := r.at[p.text]
	return ok
}

// note says where the value at p was written, if no file says so.
func (r *report) note(p path, file string, line int) {
	r.at[p.text] = position{file: file, line: line, entry: p.entry}
}

// alias has what is at p come from where at was written.
func (r *report) alias(p, at path) { r.at[p.text] = r.position(at) }

// entries are the paths of the entries that the user wrote.
func (r *report) entries() map[string]bool {
	all := map[string]bool{}
	for text, where := range r.at {
		if text == where.entry && !where.builtIn {
			all[text] = true
		}
	}
	return all
}

// template is what was written at p: text, if that had no variables.
func (r *report) template(p path, text string) string {
	return cmp.Or(r.templates[p.text], text)
}

// adopt adds what is known of built-in entries that are still in use: those that the
// user has not replaced. The values of the section merged are replaced one by one.
func (r *report) adopt(base *report, merged string) {
	r.findings = append(r.findings, base.findings...)
	replaced := func(text, entry string) bool {
		if strings.HasPrefix(entry, merged+".") {
			entry = text
		}
		where, ok := r.at[entry]
		return ok && !where.builtIn
	}
	for _, u := range base.unset {
		if !replaced(u.path.text, u.path.entry) {
			r.unset = append(r.unset, u)
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

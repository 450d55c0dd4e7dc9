package remember

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Readings explains how the rule interprets each glob, with values that match and values that do not, ordered by argument name. It
// leaves out arguments that must have one value.
func (r Rule) Readings() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Arguments)) {
		if p := r.Arguments[name]; p.Glob != "" {
			lines = append(lines, name+" like "+p.Glob+": "+p.reading(r.Tool, name))
		}
	}
	return lines
}

func (p Pattern) reading(tool, name string) string {
	how := `read as a name: each * matches one or more letters, digits, "_", "-" and ".", but no space, "/" or other character`
	candidates := []string{"x", "x.prod", "x-1", "x y", "x/y", "../x", "X", ""}
	switch {
	case isCommand(tool, name):
		how = `read as a command line: each * matches part of one word (letters, digits, "_", "-" and "."); more words or commands do not match`
		candidates = []string{"x", "x.y", "x y", "x; id", "$(id)", ""}
	case p.Glob == anything:
		how = "matches any value, including sentences and numbers"
		candidates = []string{"x", "a sentence; with anything"}
	case !strings.Contains(p.Glob, anything):
		how = "matches only this text, because it has no *"
		candidates = nil
	}
	var takes, refuses []string
	fits := p.matcher(tool, name)
	for _, part := range candidates {
		if value := strings.ReplaceAll(p.Glob, anything, part); fits(value) {
			takes = append(takes, value)
		} else {
			refuses = append(refuses, value)
		}
	}
	if len(takes) > 0 {
		how += "; matches " + quotedList(takes)
	}
	if len(refuses) > 0 {
		how += "; does not match " + quotedList(refuses)
	}
	return how
}

// quotedList returns at most four of the texts, quoted.
func quotedList(texts []string) string {
	const most = 4
	var out []string
	for _, text := range texts[:min(len(texts), most)] {
		out = append(out, fmt.Sprintf("%q", text))
	}
	return strings.Join(out, ", ")
}

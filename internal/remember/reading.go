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
	how := `read as a name: each * is one or more letters, digits, "_", "-" and ".", and no blank, "/" or other character`
	candidates := []string{"x", "x.prod", "x-1", "x y", "x/y", "../x", "X", ""}
	switch {
	case isCommand(tool, name):
		how = `read as a command line: each * is a part of one word, of letters, digits, "_", "-" and "."; further words and commands do not fit`
		candidates = []string{"x", "x.y", "x y", "x; id", "$(id)", ""}
	case p.Glob == anything:
		how = "any value, sentences and numbers too"
		candidates = []string{"x", "a sentence; with anything"}
	case !strings.Contains(p.Glob, anything):
		how = "read as this text alone: it has no *"
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
		how += "; it takes " + quotedList(takes)
	}
	if len(refuses) > 0 {
		how += "; it does not take " + quotedList(refuses)
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

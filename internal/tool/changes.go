package tool

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Changes lists the differences between a server's current and last description of its tools, one line for each tool.
// There are none for a server that was not asked before. A change can mean that a trusted server was replaced. A tool that is
// missing from a partial list need not have been removed, and one that follows a partial list need not be new.
func Changes(last, current Catalogue) (lines []string) {
	before, now := last.Tools, current.Tools
	if last.Server == "" { // a server that offered nothing still has a name
		return nil
	}
	for _, spec := range now {
		old, known := named(before, spec.Name)
		switch was, is := old.Definition(), spec.Definition(); {
		case !known && last.Partial != "":
		case !known:
			lines = append(lines, fmt.Sprintf("%s is new (definition %.8s)", spec.Name, is))
		case was != is:
			what := strings.Join(differences(old, spec), ", ")
			lines = append(lines, fmt.Sprintf("%s has changed: %s (definition %.8s, previously %.8s)", spec.Name, what, is, was))
		}
	}
	for _, spec := range before {
		if _, there := named(now, spec.Name); !there && current.Partial == "" {
			lines = append(lines, fmt.Sprintf("%s was removed (definition %.8s)", spec.Name, spec.Definition()))
		}
	}
	return lines
}

// maxRemembered limits the tools that are remembered of a server whose lists are partial.
const maxRemembered = 1000

// After returns what is known of a server's tools after this list: the list, or last with the tools of a partial list. Beyond the
// limit it returns last.
func (c Catalogue) After(last Catalogue) Catalogue {
	if c.Partial == "" || last.Server == "" {
		return c
	}
	tools := slices.Clone(c.Tools)
	for _, spec := range last.Tools {
		if _, there := named(c.Tools, spec.Name); !there {
			tools = append(tools, spec)
		}
	}
	if len(tools) <= maxRemembered {
		last.Tools, last.Changed = tools, nil
	}
	return last
}

// Named returns a slice with the tool of a name, or nil if there is none.
func (c Catalogue) Named(name string) []Spec {
	if spec, ok := named(c.Tools, name); ok {
		return []Spec{spec}
	}
	return nil
}

func named(specs []Spec, name string) (Spec, bool) {
	n := slices.IndexFunc(specs, func(s Spec) bool { return s.Name == name })
	if n < 0 {
		return Spec{}, false
	}
	return specs[n], true
}

func differences(a, b Spec) (what []string) {
	if a.Description != b.Description {
		what = append(what, "description")
	}
	if !bytes.Equal(a.Schema, b.Schema) {
		what = append(what, "schema")
	}
	if a.Unusable != b.Unusable {
		what = append(what, "usability")
	}
	if was, is := a.saidRisk(), b.saidRisk(); was != is {
		what = append(what, fmt.Sprintf("risk %s instead of %s", is, was))
	}
	return what
}

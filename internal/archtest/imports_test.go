package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// check returns what breaks the rule: `file: imports x: why`.
func (r importRule) check(t tree) []string {
	var problems []string
	for _, pkg := range t.packages() {
		if !matchAny(r.in, pkg) || matchAny(r.except, pkg) {
			continue
		}
		if r.deep {
			problems = append(problems, r.walk(t, []string{pkg}, map[string]bool{})...)
			continue
		}
		for _, f := range t.code(pkg) {
			for _, name := range f.imports() {
				if r.forbids(pkg, name) {
					problems = append(problems, fmt.Sprintf("%s: imports %s: %s", f.path, name, r.why))
				}
			}
		}
	}
	return problems
}

// walk follows the imports of the last package of a way that has led to it.
func (r importRule) walk(t tree, way []string, seen map[string]bool) []string {
	var problems []string
	for _, f := range t.code(way[len(way)-1]) {
		for _, name := range f.imports() {
			if seen[name] {
				continue
			}
			seen[name] = true
			further := append(slices.Clone(way), name)
			if r.forbids(way[0], name) {
				problems = append(problems, fmt.Sprintf("%s: %s", strings.Join(further, " → "), r.why))
				continue
			}
			problems = append(problems, r.walk(t, further, seen)...)
		}
	}
	return problems
}

func (r importRule) forbids(pkg, name string) bool {
	return name != pkg && (matchAny(r.never, name) || r.only != nil && !matchAny(r.only, name))
}

func matchAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, pkg) })
}

func match(pattern, pkg string) bool {
	switch pattern {
	case "...":
		return true
	case "std":
		return isStandard(pkg)
	}
	top, below := strings.CutSuffix(pattern, "/...")
	parts := strings.Split(pkg, "/")
	if n := strings.Count(top, "/") + 1; below && len(parts) > n {
		parts = parts[:n]
	}
	ok, err := path.Match(top, strings.Join(parts, "/"))
	return ok && err == nil
}

// isStandard: the standard library has no dot in the first part of its paths,
// and no package by the name of one of our folders.
func isStandard(pkg string) bool {
	top, _, _ := strings.Cut(pkg, "/")
	ours := []string{"workflows", "activities", "worker", "starter", "dev", "config", "value", "inquesttest", "internal", "test", "examples"}
	return !strings.Contains(top, ".") && !slices.Contains(ours, top)
}

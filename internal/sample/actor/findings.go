package actor

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// findings are what one stage hands to the next, as lines that both people and the script can read.
type findings struct {
	Suspect, Onset, Symptom, Cause             string
	Setting, Object, Value, Before, Confidence string

	Evidence, Other, Unchecked []string
}

type labelled[T any] struct {
	label string
	value *T
}

func (f *findings) facts() []labelled[string] {
	return []labelled[string]{
		{"Suspect service", &f.Suspect},
		{"Onset", &f.Onset},
		{"Symptom", &f.Symptom},
		{"Root cause", &f.Cause},
		{"Setting", &f.Setting},
		{"Object", &f.Object},
		{"Value now", &f.Value},
		{"Value before", &f.Before},
		{"Confidence", &f.Confidence},
	}
}

func (f *findings) lists() []labelled[[]string] {
	return []labelled[[]string]{
		{"Evidence", &f.Evidence},
		{"Observed, but not explained by this", &f.Other},
		{"Not checked", &f.Unchecked},
	}
}

// String formats the findings as Markdown. It omits empty ones.
func (f findings) String() string {
	var out strings.Builder
	for _, fact := range f.facts() {
		if *fact.value != "" {
			fmt.Fprintf(&out, "**%s:** %s\n", fact.label, *fact.value)
		}
	}
	for _, list := range f.lists() {
		if len(*list.value) > 0 {
			fmt.Fprintf(&out, "\n### %s\n- %s\n", list.label, strings.Join(*list.value, "\n- "))
		}
	}
	return strings.TrimSpace(out.String())
}

// readFindings parses the output of String. The last value of a fact wins, because later stages know more. Lists are merged without
// duplicates.
func readFindings(texts ...string) (f findings) {
	for _, text := range texts {
		for _, fact := range f.facts() {
			line := regexp.MustCompile(`(?m)^\*\*` + fact.label + `:\*\* (.+)$`)
			for _, m := range line.FindAllStringSubmatch(text, -1) {
				*fact.value = strings.TrimSpace(m[1])
			}
		}
		for _, list := range f.lists() {
			_, rest, _ := strings.Cut(text, "### "+list.label+"\n")
			rest, _, _ = strings.Cut(rest, "\n#")
			for line := range strings.Lines(rest) {
				if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok && !slices.Contains(*list.value, item) {
					*list.value = append(*list.value, item)
				}
			}
		}
	}
	return f
}

// ranked returns the keys with the highest counts first. Equal counts are sorted alphabetically.
func ranked(n map[string]int) []string {
	keys := slices.Sorted(maps.Keys(n))
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(n[b], n[a]) })
	return keys
}

// most returns the key with the highest count, or an empty string if there is none.
func most(n map[string]int) string {
	return strings.Join(ranked(n)[:min(1, len(n))], "")
}

package actor

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The facts that one stage hands to the next, as lines that both people and the
// script read.
const (
	suspectFact    = "Suspect service"
	onsetFact      = "Onset"
	symptomFact    = "Symptom"
	causeFact      = "Root cause"
	settingFact    = "Setting"
	objectFact     = "Object"
	valueFact      = "Value now"
	beforeFact     = "Value before"
	confidenceFact = "Confidence"
)

// The headings of a report's lists.
const (
	evidenceList  = "Evidence"
	otherList     = "Seen, but not explained by this"
	uncheckedList = "Not checked"
)

// report is a conclusion. Empty parts are left out.
type report struct {
	opening   string
	facts     []labelled
	evidence  []string
	other     []string
	unchecked []string
	closing   string
}

type labelled struct{ label, value string }

// String writes the report as Markdown.
func (r report) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", r.opening)
	first := true
	for _, f := range r.facts {
		if f.value == "" {
			continue
		}
		if first {
			out.WriteString("\n")
		}
		first = false
		fmt.Fprintf(&out, "**%s:** %s\n", f.label, f.value)
	}
	writeList(&out, evidenceList, r.evidence)
	writeList(&out, otherList, r.other)
	writeList(&out, uncheckedList, r.unchecked)
	if r.closing != "" {
		fmt.Fprintf(&out, "\n%s\n", strings.TrimSpace(r.closing))
	}
	return out.String()
}

func writeList(out *strings.Builder, heading string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(out, "\n### %s\n", heading)
	for _, item := range items {
		fmt.Fprintf(out, "- %s\n", item)
	}
}

// fact reads a line like "**Suspect service:** inventory": the last one counts,
// because later stages know more. "" = none.
func fact(text, label string) string {
	all := regexp.MustCompile(`(?m)^\*\*`+regexp.QuoteMeta(label)+`:\*\* (.+)$`).FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	return strings.TrimSpace(all[len(all)-1][1])
}

// bullets returns the items below a heading.
func bullets(text, heading string) []string {
	_, rest, ok := strings.Cut(text, "### "+heading+"\n")
	if !ok {
		return nil
	}
	rest, _, _ = strings.Cut(rest, "\n###")
	var out []string
	for line := range strings.Lines(rest) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			out = append(out, item)
		}
	}
	return out
}

// most returns the key with the highest count; of equals the first in the alphabet.
func most(n map[string]int) (key string, count int) {
	for _, k := range slices.Sorted(maps.Keys(n)) {
		if n[k] > count {
			key, count = k, n[k]
		}
	}
	return key, count
}

// ranked returns the keys by falling count.
func ranked(n map[string]int) []string {
	keys := slices.Sorted(maps.Keys(n))
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(n[b], n[a]) })
	return keys
}

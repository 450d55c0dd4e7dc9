package actor

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

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

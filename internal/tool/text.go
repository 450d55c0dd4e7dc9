package tool

import (
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/spell"
)

// ValidText returns text with every invalid byte replaced by U+FFFD. Valid text is returned unchanged, without a copy.
func ValidText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

const (
	maxNameShown  = 100 // bytes of a name from a model that are shown in a message
	maxNameCloser = 3   // names that a refusal suggests
)

// closest returns the names that are most similar to the wanted one, best first.
func closest(wanted string, names []string) []string {
	if len(wanted) > maxNameShown {
		return nil
	}
	type match struct {
		name string
		far  int
	}
	var matches []match
	for _, name := range names {
		if far := farness(wanted, name); far <= max(2, len(wanted)/3) {
			matches = append(matches, match{name, far})
		}
	}
	slices.SortStableFunc(matches, func(a, b match) int { return a.far - b.far })
	var out []string
	for _, m := range matches[:min(len(matches), maxNameCloser)] {
		out = append(out, m.name)
	}
	return out
}

// farness returns how different two names are: 0 for the right tool on a wrong server or without a server, and
// otherwise the edit distance.
func farness(wanted, name string) int {
	_, own := Split(name)
	if wanted == own || strings.HasSuffix(wanted, "."+own) || strings.HasSuffix(wanted, dot+own) {
		return 0
	}
	lower := strings.ToLower(strings.Replace(wanted, dot, ".", 1))
	return min(spell.Distance(lower, strings.ToLower(name)), spell.Distance(lower, strings.ToLower(own)))
}

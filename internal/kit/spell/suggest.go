package spell

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean names the candidate that is closest to what was written, if one is close: "; did you
// mean …?".
func DidYouMean(written string, candidates []string) string {
	best, least := "", max(1, min(3, len(written)/3))+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		d := Distance(strings.ToLower(written), strings.ToLower(c))
		if len(written) > 2 && strings.HasPrefix(c, written) { // api_key, of api_key_env
			d = min(d, 1)
		}
		if d < least {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// mostListed bounds the names that Hint lists.
const mostListed = 20

// Hint completes the error "unknown X NAME": with the candidate that is closest to the name or, if none is close, with what is available.
func Hint(written string, candidates []string) string {
	if meant := DidYouMean(written, candidates); meant != "" || len(candidates) == 0 {
		return meant
	}
	names := slices.Sorted(slices.Values(candidates))
	more := ""
	if len(names) > mostListed {
		names, more = names[:mostListed], fmt.Sprintf(" and %d more", len(names)-mostListed)
	}
	return "; available: " + strings.Join(names, ", ") + more
}

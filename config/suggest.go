package config

import (
	"fmt"
	"slices"
	"strings"
)

// didYouMean names the candidate that is closest to what was written, if one is close.
func didYouMean(written string, candidates []string) string {
	best, least := "", max(1, min(3, len(written)/3))+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := distance(strings.ToLower(written), strings.ToLower(c), least); d < least {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the number of letters to add, drop or change (Levenshtein); limit = at least so many.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

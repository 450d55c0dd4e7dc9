// Package score reads a judge's reply about an investigation (spec: pipeline, "Around the result").
package score

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tags are the names of the possible failures of an investigation.
var tags = []string{
	"premature_conclusion", "missed_available_tool", "unsupported_confidence",
	"incomplete_evidence", "hallucinated_evidence", "wrong_conclusion",
}

var (
	lastLine = regexp.MustCompile(`^\s*([+-]?\d+)\s*$`)
	word     = regexp.MustCompile(`\w+`)
)

// Parse separates the score (0–100) on the last line of a judgement from the rest. ok is false if there is none.
func Parse(text string) (assessment string, score int, ok bool) {
	text = strings.TrimSpace(text)
	at := strings.LastIndexByte(text, '\n') + 1
	said := lastLine.FindStringSubmatch(text[at:])
	if said == nil {
		return text, 0, false
	}
	score, err := strconv.Atoi(said[1])
	if err != nil || score < 0 || score > 100 {
		return text, 0, false
	}
	return strings.TrimSpace(text[:at]), score, true
}

// Tags returns the failure tags that a judgement names, each once.
func Tags(text string) (found []string) {
	words := word.FindAllString(text, -1)
	for _, tag := range tags {
		if slices.Contains(words, tag) {
			found = append(found, tag)
		}
	}
	return found
}

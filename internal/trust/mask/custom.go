package mask

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"github.com/inquest-dev/inquest/internal/plan"
)

// Replacement is the default replacement of a configured pattern.
const Replacement = markerStart + "]"

// maxMatches bounds the memory of one pattern.
const maxMatches = 1 << 20

// custom is a configured pattern. Its replacement may refer to groups of the expression: ${1}.
type custom struct {
	expr        *regexp.Regexp
	replacement string
}

// Check returns why a configured pattern cannot be used; nil means that it can.
func Check(p plan.MaskPattern) error {
	_, err := compile(p)
	return err
}

func compile(p plan.MaskPattern) (custom, error) {
	if p.Pattern == "" {
		return custom{}, errors.New("it is empty")
	}
	expr, err := regexp.Compile(p.Pattern)
	if err == nil && expr.MatchString("") {
		err = errors.New("it matches an empty string")
	}
	return custom{expr: expr, replacement: cmp.Or(p.Replacement, Replacement)}, err
}

// mask replaces the matches that are not masked already.
func (c custom) mask(text string) string {
	if !strings.Contains(text, markerStart) {
		return c.expr.ReplaceAllString(text, c.replacement)
	}
	matches := c.expr.FindAllStringSubmatchIndex(text, maxMatches+1)
	if len(matches) > maxMatches {
		return c.expr.ReplaceAllString(text, c.replacement) // if it matches markers, untilStable gives up
	}
	out := rewrite{text: text}
	at := span{}
	for _, m := range matches {
		at = nextMarker(text, at, m[0])
		if at.start <= m[0] && m[1] <= at.end {
			continue
		}
		with := string(c.expr.ExpandString(nil, c.replacement, text, m))
		if strings.Contains(with, markerStart) && strings.HasPrefix(text[m[0]:], with) {
			continue // it was replaced before and matches again
		}
		out.replace(m[0], m[1], with)
	}
	return out.String()
}

// nextMarker returns the first marker that ends after i, searching from last on.
func nextMarker(text string, last span, i int) span {
	for last.end <= i {
		next := strings.Index(text[last.end:], markerStart)
		if next < 0 {
			return span{len(text), len(text)}
		}
		last.start = last.end + next
		if last.end = markerAt(text, last.start); last.end < 0 {
			last.end = last.start + len(markerStart)
		}
	}
	return last
}

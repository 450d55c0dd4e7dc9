package mask

import (
	"strings"

	"github.com/inquest-dev/inquest/internal/plan"
)

const (
	markerStart = plan.Mask
	withheld    = markerStart + "_LINE]"
)

// markerAt returns the end of the marker that begins at i; -1 means that there is none.
func markerAt(text string, i int) int {
	if !strings.HasPrefix(text[i:], markerStart) {
		return -1
	}
	for i += len(markerStart); i < len(text); i++ {
		switch c := text[i]; {
		case c == ']':
			return i + 1
		case c != '_' && (c < 'A' || c > 'Z') && (c < '0' || c > '9'):
			return -1
		}
	}
	return -1
}

// isMarker reports whether a text is exactly one marker.
func isMarker(text string) bool { return text != "" && markerAt(text, 0) == len(text) }

// rewrite builds a text from another one. It copies nothing before the first change.
type rewrite struct {
	text string
	done int // position in text up to which out is complete
	out  strings.Builder
}

// replace replaces text[start:end]. Replacements must be in order.
func (r *rewrite) replace(start, end int, with string) {
	if start < r.done { // within an earlier replacement
		start, with = r.done, ""
	}
	if end < start {
		return
	}
	if r.out.Cap() == 0 {
		r.out.Grow(len(r.text))
	}
	r.out.WriteString(r.text[r.done:start])
	r.out.WriteString(with)
	r.done = end
}

func (r *rewrite) String() string {
	if r.done == 0 && r.out.Len() == 0 {
		return r.text
	}
	r.out.WriteString(r.text[r.done:])
	return r.out.String()
}

// span is a part of a text.
type span struct{ start, end int }

// withoutLines withholds the lines in which two texts differ.
func withoutLines(a, b string) string {
	before, after := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	same := len(before) == len(after)
	var out []string
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		out, before, after = append(out, before[0]), before[1:], after[1:]
	}
	end := len(before)
	for n := len(after); end > 0 && n > 0 && before[end-1] == after[n-1]; n-- {
		end--
	}
	for i, line := range before[:end] {
		switch {
		case same && line == after[i]:
			out = append(out, line)
		case same || i == end-1: // if the number of lines has changed, one marker replaces them
			out = append(out, withheld+line[len(strings.TrimRight(line, "\r\n")):])
		}
	}
	if end == 0 { // only new lines
		return withheld
	}
	return strings.Join(append(out, before[end:]...), "")
}

package builtin

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

const (
	longLine = 500 // bytes; of a longer line only the parts around its matches are shown
	lead     = 150 // bytes shown before such a match
)

// grep shows the matching lines of a text from an offset on, each as `number@offset: text`, in about limit bytes. Lines
// count from 1.
func grep(text string, pattern *regexp.Regexp, offset, limit int) string {
	f := finder{pattern: pattern, limit: limit, next: len(text)}
	number, from := 1+strings.Count(text[:offset], "\n"), offset
	for line := range strings.Lines(text[offset:]) {
		f.line(number, from, strings.TrimRight(line, "\r\n"))
		number, from = number+1, from+len(line)
	}
	what := fmt.Sprintf("matching lines: %d, shown: %d; ", f.lines, f.shown)
	return head(what, offset, f.next, len(text)) + f.out.String()
}

// finder collects the matching lines.
type finder struct {
	pattern      *regexp.Regexp
	limit        int // of out, in bytes
	out          strings.Builder
	lines, shown int // matching lines, and those in out
	next         int // offset of the first match that does not fit into out
	full         bool
}

func (f *finder) line(number, from int, line string) {
	if !f.pattern.MatchString(line) {
		return
	}
	f.lines++
	if f.full {
		return
	}
	if len(line) <= longLine {
		f.add(number, from, line)
	} else {
		f.parts(number, from, line)
	}
	if !f.full {
		f.shown++
	}
}

// parts adds the text around the matches of a long line. After the first part the pattern is tried as if a line began
// there.
func (f *finder) parts(number, from int, line string) {
	for done := 0; done < len(line) && !f.full; {
		match := f.pattern.FindStringIndex(line[done:])
		if match == nil {
			return
		}
		start := max(done, done+match[0]-lead)
		for start > done && !isStart(line, start) {
			start--
		}
		part := clip.Bytes(line[start:], longLine)
		f.add(number, from+start, part)
		done = start + len(part)
	}
}

func (f *finder) add(number, offset int, text string) {
	entry := fmt.Sprintf("%d@%d: %s\n", number, offset, text)
	if f.out.Len() > 0 && f.out.Len()+len(entry) > f.limit {
		f.full, f.next = true, offset
		return
	}
	f.out.WriteString(entry)
}

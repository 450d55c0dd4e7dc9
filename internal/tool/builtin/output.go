package builtin

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/tool"
)

// output keeps the first bytes of what a command prints and counts the rest, so
// that a command that never stops printing costs no memory.
type output struct {
	limit int      // bytes
	parts [][]byte // of what is kept; one slice that grows would be copied again and again
	total int64    // bytes
}

// partSize is the capacity of a part, in bytes.
const partSize = 32 << 10

// Write never fails: a command must not die of our cap.
func (o *output) Write(p []byte) (int, error) {
	kept := p[:min(len(p), o.limit-o.kept())]
	o.total += int64(len(p))
	for len(kept) > 0 {
		last := len(o.parts) - 1
		if last < 0 || len(o.parts[last]) == partSize {
			o.parts = append(o.parts, make([]byte, 0, partSize))
			last++
		}
		n := min(len(kept), partSize-len(o.parts[last]))
		o.parts[last] = append(o.parts[last], kept[:n]...)
		kept = kept[n:]
	}
	return len(p), nil
}

// kept is how many bytes the parts have.
func (o *output) kept() int { return int(min(o.total, int64(o.limit))) }

// String returns the output as valid UTF-8, and says so if it was cut.
func (o *output) String() string {
	var kept strings.Builder
	kept.Grow(o.kept())
	for _, part := range o.parts {
		kept.Write(part)
	}
	text := kept.String()
	if o.total <= int64(len(text)) {
		return tool.ValidText(text)
	}
	return tool.ValidText(wholeRunes(text)) + fmt.Sprintf("...\n[truncated, %d total bytes]", o.total)
}

// wholeRunes drops a last character that the cap cut in two.
func wholeRunes(text string) string {
	for range utf8.UTFMax - 1 {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text
}

package builtin

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/inquest-dev/inquest/internal/tool"
)

// output keeps the first bytes of a command's output and counts the rest, so that endless output needs no memory.
type output struct {
	limit int // bytes
	kept  bytes.Buffer
	total int64 // bytes
}

// Write never fails, because the limit must not kill the command.
func (o *output) Write(p []byte) (int, error) {
	o.kept.Write(p[:min(len(p), o.limit-o.kept.Len())])
	o.total += int64(len(p))
	return len(p), nil
}

// String returns the output as valid UTF-8, with a note if it was cut.
func (o *output) String() string {
	text := o.kept.String()
	if o.total <= int64(len(text)) {
		return tool.ValidText(text)
	}
	return tool.ValidText(wholeRunes(text)) + fmt.Sprintf("...\n[truncated, %d total bytes]", o.total)
}

// wholeRunes drops a last character that was cut in two.
func wholeRunes(text string) string {
	for range utf8.UTFMax - 1 {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text
}

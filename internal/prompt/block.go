package prompt

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// block puts data between tags that the data cannot close: the tag's name contains a hash of the data, and no text can
// contain its own hash. The same data always gives the same block, so a retried call sends the same prompt.
func block(name, text string) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")
	sum := sha256.Sum256([]byte(name + "\n" + text))
	tag := fmt.Sprintf("%s-%x", name, sum[:8])
	return "<" + tag + ">\n" + text + "\n</" + tag + ">"
}

// line makes text fit into a sentence: a single line of limited length.
func line(text string) string {
	const limit = 500
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	return cut(text, limit)
}

// cut shortens text to limit bytes, never inside a character, and marks the cut.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	start := clip.Bytes(text, limit)
	return fmt.Sprintf("%s […cut here: %d of %d bytes shown]", start, len(start), len(text))
}

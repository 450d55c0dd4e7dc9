package memory

import (
	"fmt"
	"regexp"
	"strings"
)

// Render writes the blocks as they stand in the system prompt (spec: agents,
// "Memory"). Values are shown as they are, so that a model can quote them to
// core_memory_replace; only what would close one of the elements around them is
// defused, its "<" as "&lt;". So no value passes for a block of another label,
// or for what stands behind the memory.
func Render(blocks []Block) string {
	var out strings.Builder
	out.WriteString("<memory_blocks>\n")
	closing := closingTags(blocks)
	for _, b := range blocks {
		show := func(text string) string { return closing.ReplaceAllString(text, "&lt;$1") }
		fmt.Fprintf(&out, "<%s><description>%s</description><metadata>- chars_current=%d\n- chars_limit=%d</metadata><value>%s</value></%s>\n",
			b.Label, show(b.Description), b.Size(), b.Limit, show(b.Value), b.Label)
	}
	out.WriteString("</memory_blocks>")
	return out.String()
}

// closingTags matches what ends an element of the rendering, however it is
// spelled: models read </ Value > as </value>.
func closingTags(blocks []Block) *regexp.Regexp {
	names := []string{"memory_blocks", "description", "metadata", "value"}
	for _, b := range blocks {
		names = append(names, regexp.QuoteMeta(b.Label))
	}
	return regexp.MustCompile(`(?i)<(\s*/\s*(?:` + strings.Join(names, "|") + `)\s*>)`)
}

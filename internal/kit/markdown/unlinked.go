package markdown

import (
	"regexp"
	"strings"
)

// Fenced returns a text as a code block. The fence is longer than any in the text.
func Fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// Unlinked returns a Markdown text in which no link hides its address and no image is loaded, for parsers that are not ours: each [ is
// escaped. Code stays as it is if all parsers agree on where it begins and ends.
func Unlinked(text string) string {
	lines := strings.Split(text, "\n")
	blocks, spans := codeIn(lines)
	for n, line := range lines {
		switch {
		case blocks != nil && blocks[n]:
		case spans:
			parts := strings.Split(line, "`") // every second one is code
			for m := 0; m < len(parts); m += 2 {
				parts[m] = escapeBrackets(parts[m])
			}
			lines[n] = strings.Join(parts, "`")
		default:
			lines[n] = escapeBrackets(line)
		}
	}
	return strings.Join(lines, "\n")
}

var (
	fenceBegins = regexp.MustCompile("^```[\\w+.-]*[ \\t]*$")
	fenceEnds   = regexp.MustCompile("^```[ \\t]*$")
	// unclear matches lines outside of blocks whose spans of code parsers may see differently: in tables, for example.
	unclear = regexp.MustCompile("``|\\\\`|`.*\\||\\|.*`")
)

// codeIn reports which lines belong to blocks of code, and whether every pair of backquotes in another line is a span of code. Without
// certainty, blocks is nil and spans is false.
func codeIn(lines []string) (blocks []bool, spans bool) {
	spans = true
	inside := false
	for _, line := range lines {
		switch {
		case inside && fenceEnds.MatchString(line), !inside && fenceBegins.MatchString(line):
			inside = !inside
			blocks = append(blocks, true)
			continue
		case strings.Contains(line, "```"), strings.Contains(line, "~~~"), strings.Contains(line, "\r"):
			return nil, false
		case !inside && (unclear.MatchString(line) || strings.Count(line, "`")%2 != 0):
			spans = false
		}
		blocks = append(blocks, inside)
	}
	if inside {
		return nil, false
	}
	return blocks, spans
}

// escapeBrackets escapes each [ that is not escaped.
func escapeBrackets(text string) string {
	var out strings.Builder
	escaped := false
	for _, r := range text {
		if r == '[' && !escaped {
			out.WriteByte('\\')
		}
		escaped = r == '\\' && !escaped
		out.WriteRune(r)
	}
	return out.String()
}

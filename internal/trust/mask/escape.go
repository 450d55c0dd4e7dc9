package mask

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unescape undoes one level of JSON escaping. Other text stays unchanged.
func unescape(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case '"', '\\', '/':
			out.WriteByte(c)
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 't':
			out.WriteByte('\t')
		case 'u':
			i += unescapeRune(&out, text[i:]) - 1
		default:
			out.WriteByte('\\')
			out.WriteByte(c)
		}
	}
	return out.String()
}

// unescapeRune writes the character of "u00e9…" and returns the number of bytes read.
func unescapeRune(out *strings.Builder, text string) int {
	const length = len("u0000")
	if len(text) >= length {
		code, err := strconv.ParseUint(text[1:length], 16, 16)
		if err == nil && utf8.ValidRune(rune(code)) {
			out.WriteRune(rune(code))
			return length
		}
	}
	out.WriteString(`\u`)
	return 1
}

// escape reverses unescape.
func escape(text string) string {
	var out strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\r':
			out.WriteString(`\r`)
		case c == '\t':
			out.WriteString(`\t`)
		case c < ' ':
			fmt.Fprintf(&out, `\u%04x`, c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

package mask

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// plainer removes invisible characters and replaces disguised ones: blanks, quotes, HTML entities and JSON escapes.
var plainer = strings.NewReplacer(
	"\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u00ad", "", "\u00a0", " ", "\u2007", " ", "\u202f", " ",
	"\u3000", " ",
	"“", `"`, "”", `"`, "‘", "'", "’", "'", "：", ":", "＝", "=",
	"&quot;", `"`, "&#34;", `"`, "&#x22;", `"`, "&apos;", "'", "&#39;", "'", "&amp;", "&", "&#61;", "=", "&#58;", ":", "&lt;", "<",
	"&gt;", ">", "&nbsp;", " ",
	`\u0022`, `"`, `\u0027`, "'", `\u003d`, "=", `\u003D`, "=", `\u003a`, ":", `\u003A`, ":", `\u0026`, "&", `\u003c`, "<", `\u003e`, ">",
)

// undisguised returns a text as people see it: without colours and invisible characters.
func undisguised(text string) string {
	plain := true
	for i := 0; i < len(text) && plain; i++ {
		c := text[i]
		plain = c != 0 && c != '\x1b' && c != '&' && c != '\\' && c < utf8.RuneSelf
	}
	if plain {
		return text
	}
	return plainer.Replace(withoutControls(text))
}

const maxSequence = 256 // bytes of a terminal sequence

// withoutControls removes terminal sequences, and the zeros between letters in UTF-16.
func withoutControls(text string) string {
	out := rewrite{text: text}
	for i := 0; i < len(text); {
		switch text[i] {
		case '\x1b':
			end := sequenceEnd(text, i+1)
			out.replace(i, end, "")
			i = end
			continue
		case 0:
			if i >= 2 && text[i-2] == 0 || i+2 < len(text) && text[i+2] == 0 {
				out.replace(i, i+1, "")
			}
		}
		i++
	}
	return out.String()
}

// sequenceEnd returns the end of the terminal sequence whose escape character is before i.
func sequenceEnd(text string, i int) int {
	if i == len(text) {
		return i
	}
	last := min(len(text), i+maxSequence)
	switch text[i] {
	case '[': // colours, movements: parameters and one letter
		return min(len(text), 1+past(text[:last], i+1, func(c byte) bool { return c >= ' ' && c < '@' }))
	case ']': // titles, links
		for end := i; end < last; end++ {
			if text[end] == '\a' {
				return end + 1
			}
			if strings.HasPrefix(text[end:], "\x1b\\") {
				return end + 2
			}
		}
		return i
	}
	return i + 1
}

const minEncoded = 32 // minimum length of base64 to decode, in bytes

// decoded masks base64 and URL-encoded text if the decoded text would be masked. It masks the whole run, because masking a part is
// not possible.
func (j *job) decoded(text string) string {
	if j.inside {
		return text
	}
	inner := *j
	inner.inside = true
	out := rewrite{text: text}
	for i := 0; i < len(text); {
		if !isCodeByte(text[i]) {
			i++
			continue
		}
		end := past(text, i, isCodeByte)
		said := ""
		start := i
		switch {
		case strings.Contains(text[i:end], "%"):
			said = unpercent(text[i:end])
		case end-i >= minEncoded:
			end = wrappedEnd(text, i, end)
			start, said = unbase64(text, i, end)
		}
		if i = end; said == "" {
			continue
		}
		if masked := inner.nested(said, 0); masked != said {
			out.replace(start, end, firstMarker(masked))
		}
	}
	return out.String()
}

// firstMarker returns the first marker in a text.
func firstMarker(text string) string {
	for i := 0; ; i++ {
		next := strings.Index(text[i:], markerStart)
		if next < 0 {
			return Replacement // a configured pattern has its own replacement
		}
		if i += next; markerAt(text, i) > 0 {
			return text[i:markerAt(text, i)]
		}
	}
}

func isCodeByte(c byte) bool { return isWordByte(c) || strings.IndexByte("+/=%.~", c) >= 0 }

// unpercent decodes a part of a URL; empty if nothing in it needs a check.
func unpercent(part string) string {
	var out strings.Builder
	significant := false
	for i := 0; i < len(part); i++ {
		c := part[i]
		if c == '%' && i+2 < len(part) && isHex(lower(part[i+1])) && isHex(lower(part[i+2])) {
			c = hexByte(part[i+1])<<4 | hexByte(part[i+2])
			significant = significant || strings.IndexByte(`=:"@`, c) >= 0
			i += 2
		} else if c == '+' {
			c = ' '
		}
		out.WriteByte(c)
	}
	if !significant {
		return ""
	}
	return out.String()
}

func hexByte(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return lower(c) - 'a' + 10
}

// wrappedEnd returns the end of base64 that continues on further lines, each as long as the first.
func wrappedEnd(text string, start, end int) int {
	const narrow = 60
	for width := end - start; width >= narrow; {
		next := near(text, end, 2*maxBlanks, isSpace)
		last := past(text, next, func(c byte) bool { return isCodeByte(c) && c != '%' })
		if next == end || last == next || last-next > width {
			return end
		}
		if end = last; last-next < width {
			return end
		}
	}
	return end
}

// standard converts base64 to one line and the standard alphabet.
var standard = strings.NewReplacer("\n", "", "\r", "", " ", "", "\t", "", "-", "+", "_", "/")

// unbase64 decodes base64 that contains readable text; said is empty if it does not. Text before a "=" or a "." is not part of it.
// start is where the run begins.
func unbase64(text string, i, end int) (start int, said string) {
	run := strings.TrimRight(text[i:end], "=.")
	if at := strings.LastIndexAny(run, "=.%~"); at >= 0 {
		i, run = i+at+1, run[at+1:]
	}
	if len(run) < minEncoded || strings.Trim(run, "0123456789abcdef") == "" { // a checksum
		return i, ""
	}
	run = standard.Replace(run)
	body, err := base64.RawStdEncoding.DecodeString(run[:len(run)-len(run)%4])
	if rest := run[len(run)-len(run)%4:]; err == nil && len(rest) > 1 {
		if tail, bad := base64.RawStdEncoding.DecodeString(rest); bad == nil {
			body = append(body, tail...)
		}
	}
	for n := 0; n < utf8.UTFMax && len(body) > 0 && !utf8.Valid(body[max(0, len(body)-utf8.UTFMax):]); n++ {
		body = body[:len(body)-1] // a truncated character
	}
	if err != nil || !utf8.Valid(body) {
		return i, ""
	}
	for _, c := range body {
		if c < ' ' && !isSpace(c) && c != '\x1b' {
			return i, ""
		}
	}
	return i, string(body)
}

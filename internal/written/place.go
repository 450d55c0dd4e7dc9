package written

import (
	"regexp"
	"strings"
)

// place is a position in a text that is read from its start: what surrounds it decides whether a mark there may begin
// a call. Reading takes time in proportion to the text, in whatever pieces it comes.
type place struct {
	line  strings.Builder // the current line, up to the position
	fence string          // the run of signs that opened the fenced block around the position; empty outside of one
	tag   string          // the name of the HTML element around the position; empty outside of one
	last  string          // the end of the last line with words
	words bool            // something other than whitespace comes before
}

// read moves the position to the end of the next piece.
func (p *place) read(piece string) {
	for {
		line, rest, ended := strings.Cut(piece, "\n")
		p.line.WriteString(line)
		p.words = p.words || strings.TrimSpace(line) != ""
		if !ended {
			return
		}
		p.endLine(p.line.String())
		p.line.Reset()
		piece = rest
	}
}

// maxIndent is how many spaces may come before a mark. Markdown reads a line with more as code.
const maxIndent = 3

// startsLine reports whether nothing comes before the position in its line. Whitespace at the start of the text does
// not count.
func (p *place) startsLine() bool {
	return !p.words || p.line.Len() <= maxIndent && strings.Trim(p.line.String(), " ") == ""
}

// inCode reports whether the position is in a fenced block, in an HTML element that quotes, or between backticks.
func (p *place) inCode() bool {
	return p.fence != "" || p.tag != "" || strings.Count(p.line.String(), "`")%2 == 1
}

// explained reports whether the last line announces an example or a quotation.
func (p *place) explained() bool { return explains.MatchString(p.last) }

var (
	// fences match a line that opens or closes a fenced block, also in a quotation or a list.
	fences = regexp.MustCompile("^[\\s>]*(?:(?:[-*+]|\\d{1,3}[.)])\\s+)?(`{3,}|~{3,})([^\\n]*)$")
	// quotes match a line that opens an element whose content is quoted.
	quotes = regexp.MustCompile(`(?i)^\s*<(pre|code|quote|blockquote|q|samp|xmp|textarea|script|style|cite|details|example|examples|` +
		`log|logs|output|document|text|data|content|message|untrusted|injection|evidence)(?:\s[^>]*)?>`)
	// explains matches a line after which a model shows a call that it does not make.
	explains = regexp.MustCompile(`(?i)\b(?:examples?|format|syntax|notation|template|tags?|looks? like|like this|e\.g\.|` +
		`would write|you write|inject\w*|quot\w+|verbatim|payload|attacker\w*|malicious|will not (?:run|follow|execute))\b[^\n]*:\s*$`)
)

// maxLast is how much of a line is kept, in bytes.
const maxLast = 400

func (p *place) endLine(line string) {
	if words := strings.TrimSpace(line); words != "" {
		p.last = strings.ToValidUTF8(words[max(len(words)-maxLast, 0):], "")
	}
	switch m := fences.FindStringSubmatch(line); {
	case p.fence != "":
		if m != nil && strings.HasPrefix(m[1], p.fence) && strings.TrimSpace(m[2]) == "" {
			p.fence = ""
		}
	case p.tag != "":
		if hasClosing(line, p.tag) {
			p.tag = ""
		}
	case m != nil && (m[1][0] == '~' || !strings.Contains(m[2], "`")): // otherwise it is code within a line
		p.fence = m[1]
	default:
		if m := quotes.FindStringSubmatch(line); m != nil && !hasClosing(line, m[1]) {
			p.tag = m[1]
		}
	}
}

func hasClosing(line, tag string) bool {
	return strings.Contains(strings.ToLower(line), "</"+strings.ToLower(tag)+">")
}

// inCode reports whether a position in a text is in code.
func inCode(text string, at int) bool {
	var p place
	p.read(text[:at])
	return p.inCode()
}

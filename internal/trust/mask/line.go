package mask

import "strings"

// line is a line of text that may be YAML.
type line struct {
	start, end, next int // end: without the line break; next: start of the next line
	text             string
	first            int    // column of the first character
	column           int    // … after list dashes
	dash             bool   // whether there are list dashes
	key              string // without quotes
	isKey            bool
	afterKey         int // after the colon
	value            int // start of the value
}

func lineAt(text string, from int) line {
	l := line{start: from, end: len(text), next: len(text)}
	if n := strings.IndexByte(text[from:], '\n'); n >= 0 {
		l.end, l.next = from+n, from+n+1
	}
	l.text = strings.TrimRight(text[from:l.end], " \t\r")
	l.end = from + len(l.text)
	l.first = leading(l.text)
	l.column = l.first
	for strings.HasPrefix(l.text[l.column:], "- ") {
		l.column++
		l.column += leading(l.text[l.column:])
		l.dash = true
	}
	l.split()
	return l
}

const maxBlockKey = 256 // bytes; Kubernetes keys have at most 253

// split finds the line's key and value.
func (l *line) split() {
	rest := l.text[l.column:]
	if rest == "" || strings.IndexByte("#{}[],&*!|>%@`", rest[0]) >= 0 {
		return
	}
	colon := -1
	quoted := rest[0] == '"' || rest[0] == '\''
	if quoted {
		end := strings.IndexByte(rest[1:min(len(rest), maxBlockKey)], rest[0])
		if end < 0 {
			return
		}
		l.key = rest[1 : 1+end]
		colon = end + 2 + leading(rest[end+2:])
		if colon >= len(rest) || rest[colon] != ':' {
			return
		}
	} else {
		colon = strings.IndexByte(rest[:min(len(rest), maxBlockKey)], ':')
		if colon <= 0 {
			return
		}
		l.key = strings.TrimRight(rest[:colon], " ")
		if strings.ContainsAny(l.key, " \t") || colon+1 < len(rest) && !isBlank(rest[colon+1]) {
			return
		}
	}
	l.isKey = true
	l.afterKey = l.start + l.column + colon + 1
	l.value = l.afterKey + leading(rest[colon+1:])
	if strings.HasPrefix(l.text[l.value-l.start:], "#") { // a comment
		l.value = l.end
	}
}

func (l line) blank() bool { return l.text == "" || l.text[l.first] == '#' }
func (l line) separator() bool {
	return l.first == 0 && (l.text == "---" || l.text == "..." || strings.HasPrefix(l.text, "--- "))
}

// closes reports whether the line contains only closing braces.
func (l line) closes() bool { return l.text != "" && strings.Trim(l.text, " \t{}[],") == "" }

// continues reports whether a line without a key may continue the previous value, however little it is indented.
func (l line) continues() bool {
	return l.closes() || l.dash || len(l.text)-l.first >= 8 && !strings.ContainsAny(l.text[l.first:], " \t")
}

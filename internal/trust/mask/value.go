package mask

import (
	"slices"
	"strings"
)

// value is the text after a key, and the text to write around its marker.
type value struct {
	span
	scheme        int // length of a leading scheme
	before, after string
}

func (v value) masked(k kind) string { return v.before + k.marker() + v.after }

const maxQuoted = 1024 // bytes of a quoted multi-line value

// valueAfter finds the value after the separator at i. For a value that is not masked, it returns the end if that is known.
func (s *keyScanner) valueAfter(k key, i int, n *keyName) (v value, ok bool) {
	text, start := s.text, i+1
	for start < len(text) && start < i+3 && (text[start] == '=' || text[start] == '>') { // :=, ==, =>
		start++
	}
	spaced := start
	start = past(text, start, isBlank)
	switch {
	case start == len(text), strings.HasPrefix(text[start:], "//"):
		return v, false
	case text[start] == '\n' || text[start] == '\r':
		return s.valueBelow(k, start)
	case text[start] == '|' || text[start] == '>':
		if end := s.blockEnd(k, start); end > 0 {
			return value{span: span{start, end}}, strings.Contains(text[start:end], "\n")
		}
	case text[start] == '{' && !strings.HasPrefix(text[start:], "{{"):
		return s.braced(k, start)
	case text[start] == '[':
		if v, ok, closed := s.list(start); closed {
			return v, ok
		}
	}
	if v, ok, quoted := s.quoted(k, start); quoted {
		return v, ok
	}
	return s.bare(k, start, start > spaced, n)
}

// quoted returns a value in quotes, which may be escaped.
func (s *keyScanner) quoted(k key, start int) (v value, ok, quoted bool) {
	at := past(s.text, start, isBackslash)
	// b'x' is Python, N'x' is SQL.
	if at == start && at+1 < len(s.text) && strings.IndexByte("bruNE", s.text[at]) >= 0 && isQuote(s.text[at+1]) {
		at, start = at+1, start+1
	}
	if at == len(s.text) || !isQuote(s.text[at]) {
		return v, false, false
	}
	if three := strings.Repeat(s.text[at:at+1], 3); strings.HasPrefix(s.text[at:], three) {
		body := s.text[at+3 : min(len(s.text), at+3+maxQuoted)]
		if end := strings.Index(body, three); end >= 0 {
			v.start, v.end = at+3, at+3+end
			return v, !isPlaceholder(body[:end]), true
		}
	}
	v.start = at + 1
	v.end = s.closingQuote(k.start, v.start, s.text[at], at-start)
	inner := s.text[v.start:v.end]
	v.before = scheme(inner)
	v.scheme = len(v.before)
	return v, !isPlaceholder(inner[v.scheme:]), true
}

// closingQuote returns the end of a quoted value: the same quote, escaped no more than the first one, or the end of the line. Only
// lines indented more than the key at k may continue it, as in YAML.
func (s *keyScanner) closingQuote(k, start int, quote byte, escapes int) int {
	text, line, run := s.text, -1, 0 // run: backslashes before i
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			run++
			continue
		case c == quote && escapes > 0 && run <= escapes:
			return i - run
		case c == quote && quote == '\'' && run == 0 && escapes == 0 && i+1 < len(text) && text[i+1] == quote: // an escaped quote in YAML
			i++
		case c == quote && escapes == 0 && run%2 == 0:
			return i
		case c == '\n':
			if line < 0 {
				line = i
			}
			if i-start > maxQuoted || !s.continued(k, i+1) {
				return line
			}
		}
		run = 0
	}
	if line < 0 {
		return len(text)
	}
	return line
}

// continued reports whether the line at i may continue the value of the key at k.
func (s *keyScanner) continued(k, i int) bool {
	first := near(s.text, i, maxIndent, isBlank)
	return first-i > s.indent(k) && !strings.HasPrefix(s.text[first:], "-") && !s.pairAt(first)
}

// braced returns a value in braces: from an ODBC connection string, Pwd={x;y};, or a value encrypted by Maven. Names in braces are
// templates.
func (s *keyScanner) braced(k key, start int) (v value, ok bool) {
	text := s.text
	end := near(text, start+1, 2*maxKey, func(c byte) bool { return strings.IndexByte("{}\n\"'", c) < 0 })
	if end == len(text) || text[end] != '}' {
		return v, false
	}
	v.span = span{start + 1, end}
	inner := text[v.start:v.end]
	odbc := k.start > 0 && text[k.start-1] == ';' && s.ends(end+1)
	ok = (odbc || text[start-1] == '>' && strings.HasPrefix(text[end+1:], "</")) &&
		strings.ContainsFunc(inner, func(r rune) bool { return r > 'z' || !isKeyByte(byte(r)) }) && !isPlaceholder(inner)
	if !ok {
		return value{}, false
	}
	return v, true
}

// list masks a list on one line as one value.
func (s *keyScanner) list(start int) (v value, ok, closed bool) {
	if markerAt(s.text, start) > 0 || start < s.unclosed {
		return v, false, false
	}
	end := start + 1
	for end < len(s.text) && s.text[end] != ']' && s.text[end] != '\n' {
		end = max(end+1, markerAt(s.text, end))
	}
	if end == len(s.text) || s.text[end] != ']' {
		s.unclosed = end
		return v, false, false
	}
	v.span = span{start + 1, end}
	inner := strings.TrimSpace(s.text[v.start:v.end])
	if len(inner) > 1 && isQuote(inner[0]) {
		v.before, v.after = inner[:1], inner[:1]
		inner = strings.Trim(inner, v.before)
	}
	plain := scheme(inner)
	v.before += plain
	v.scheme = len(plain)
	return v, inner != "" && inner[0] != '{' && !isPlaceholder(inner[len(plain):]), true
}

// bare returns a value without quotes. In a line of YAML, properties or headers, it extends to the end of the line; otherwise it is
// one word.
func (s *keyScanner) bare(k key, start int, spaced bool, n *keyName) (v value, ok bool) {
	kind := none
	if n != nil {
		kind = n.kind
	}
	v.before = scheme(s.text[start:min(len(s.text), start+maxScheme)])
	v.start, v.scheme = start, len(v.before)
	after := start + v.scheme
	line, inString := spaced && s.startsLine(k), isQuote(k.open) && k.closed == 0
	switch {
	case inString:
		v.end = min(s.closingQuote(k.start, start, k.open, s.backslashes(k.start-1)), s.lineEnd(start))
	case kind == authorization && v.before == "": // several words and pairs: Digest, cookies
		v.end = s.quoteEnd(start, line)
	case line:
		v.end = s.pairEnd(after)
	default:
		v.end = s.wordEnd(after)
	}
	text := strings.TrimRight(s.text[after:max(after, v.end)], " \t\r")
	if k.closed == '"' && !isMarker(text) { // possibly a JSON number
		text = strings.TrimRight(text, " \t\r,}]")
		v.after = strings.Repeat(`\`, k.escapes) + `"`
		v.before = v.after + v.before
	}
	v.end = after + len(text)
	for strings.HasSuffix(s.text[after:v.end], "\\") && !isQuote(k.open) { // a continued line
		next := v.end
		if next < len(s.text) && s.text[next] == '\r' {
			next++
		}
		if next >= len(s.text) || s.text[next] != '\n' || next-after > maxQuoted {
			break
		}
		next = near(s.text, next+1, maxIndent, isBlank)
		if s.startsLine(k) {
			next += len(strings.TrimRight(s.text[next:s.lineEnd(next)], " \t\r"))
		} else {
			next = s.wordEnd(next)
		}
		text, v.end = s.text[after:next], next
	}
	if kind == authorization && strings.Contains(text, " ") && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz ") == "" {
		return v, false // an error message about the value
	}
	words := strings.Fields(text)
	if line && kind != password && kind != authorization && len(words) > 3 && !slices.ContainsFunc(words, random) {
		return v, false // a sentence
	}
	prose := !line && !inString && k.closed == 0 && s.inProse(k)
	return v, !isPlaceholder(text) && !(prose && kind != password && !random(text))
}

// startsLine reports whether a key begins its line, apart from characters of lists, shells, diffs, quotes and header logs.
func (s *keyScanner) startsLine(k key) bool {
	i := back(s.text, k.start, max(0, k.start-2*maxBlanks), func(c byte) bool { return strings.IndexByte(" \t-+*>#<|~\"'`", c) >= 0 })
	return i == 0 || s.text[i-1] == '\n' || strings.HasSuffix(s.text[:i], "export")
}

// inProse reports whether a key directly follows a word that is not the value of the previous key. Adjacent pairs are found in one
// round.
func (s *keyScanner) inProse(k key) bool {
	return k.start >= 2 && k.start-1 > s.done && s.text[k.start-1] == ' ' && (isLower(s.text[k.start-2]) || isUpper(s.text[k.start-2]))
}

// backslashes counts the backslashes before i.
func (s *keyScanner) backslashes(i int) int { return i - back(s.text, i, 0, isBackslash) }

func isBackslash(c byte) bool { return c == '\\' }

package mask

import "strings"

// lineEnd returns the end of the line that contains i. It caches the result, because a line may be very long.
func (s *keyScanner) lineEnd(i int) int {
	if s.line.start <= i && i <= s.line.end && s.line.end > 0 {
		return s.line.end
	}
	s.line = span{i, len(s.text)}
	if end := strings.IndexByte(s.text[i:], '\n'); end >= 0 {
		s.line.end = i + end
	}
	return s.line.end
}

// wordEnd returns the end of a value without blanks.
func (s *keyScanner) wordEnd(start int) int {
	text, opened := s.text, 0
	if end := markerAt(text, start); end >= 0 && (end == len(text) || !isAlnum(text[end])) {
		return end
	}
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case isSpace(c), isQuote(c), c == '<' && i > start, c == '>':
			return i - s.trailing(start, i)
		case c == ',', c == ';', c == '&', c == '|':
			if s.ends(i+1) || s.pairAt(i+1) {
				return i
			}
		case c == '(', c == '[', c == '{':
			opened++
		case c == ')', c == ']', c == '}':
			if opened--; opened < 0 && s.ends(i+1) {
				return i
			}
		}
	}
	return len(text)
}

// trailing counts the backslashes that belong to the quote at i, not to the value before it.
func (s *keyScanner) trailing(start, i int) (n int) {
	for isQuote(s.text[i]) && i-n > start && s.text[i-n-1] == '\\' {
		n++
	}
	return n
}

// ends reports whether the byte at i, or the end of the text, cannot begin a value.
func (s *keyScanner) ends(i int) bool {
	return i >= len(s.text) || isSpace(s.text[i]) || isQuote(s.text[i]) || strings.IndexByte(",;&)]}\\<", s.text[i]) >= 0
}

// pairAt reports whether there are a key and a separator at i.
func (s *keyScanner) pairAt(i int) bool {
	text := s.text
	start := near(text, i, maxBlanks, isGap)
	i = near(text, start, maxKey, isKeyByte)
	if i < len(text) && isQuote(text[i]) {
		i++
	}
	return i > start && i < len(text) && (text[i] == '=' || text[i] == ':')
}

// pairEnd returns the end of a value that ends with its line, or earlier because another key begins.
func (s *keyScanner) pairEnd(start int) int {
	end := s.lineEnd(start)
	for i := start + 1; i < end; i++ {
		if c := s.text[i]; (isBlank(c) || c == ',' || c == ';' || c == '&') && s.pairAt(i+1) {
			return i
		}
	}
	return end
}

// quoteEnd returns the end of the line, or of the enclosing quotes.
func (s *keyScanner) quoteEnd(start int, line bool) int {
	end := s.lineEnd(start)
	for i := start; i < end && !line; i++ {
		if isQuote(s.text[i]) && (i == start || s.text[i-1] != '=') { // realm="x"
			return i - s.trailing(start, i)
		}
	}
	return end
}

const maxIndent = 1024 // columns; text further right is not YAML

// indent returns the column where the line that contains i begins.
func (s *keyScanner) indent(i int) int {
	line := max(0, i-maxIndent)
	line += strings.LastIndexByte(s.text[line:i], '\n') + 1
	return past(s.text[:i], line, func(c byte) bool { return isBlank(c) || c == '-' }) - line
}

// blockEnd returns the end of the block scalar whose header ("|", ">-") is at i. Zero means that i is not a header.
func (s *keyScanner) blockEnd(k key, i int) int {
	head := strings.TrimRight(s.text[i+1:s.lineEnd(i)], " \t\r")
	if strings.Trim(head, "+-0123456789") != "" && !strings.HasPrefix(strings.TrimLeft(head, "+-0123456789"), " #") {
		return 0
	}
	end, column := s.lineEnd(i), s.indent(k.start)
	for next := end; next < len(s.text); {
		from := next + 1
		next = s.lineEnd(min(from, len(s.text)))
		if line := s.text[min(from, next):next]; strings.TrimSpace(line) == "" {
			continue
		} else if leading(line) <= column {
			break
		}
		end = next
	}
	return end
}

// leading returns the number of blanks at the beginning of a line.
func leading(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// valueBelow returns a value that is alone on the line below its key, and indented further than the key.
func (s *keyScanner) valueBelow(k key, i int) (v value, ok bool) {
	from := s.lineEnd(i) + 1
	if from >= len(s.text) {
		return v, false
	}
	line := strings.TrimRight(s.text[from:s.lineEnd(from)], " \t\r,")
	column := leading(line)
	text := line[column:]
	if column <= s.indent(k.start) || text == "" || strings.ContainsAny(text[:1], "#-{[<") ||
		strings.Contains(text, ": ") || strings.HasSuffix(text, ":") {
		return v, false
	}
	v.span = span{from + column, from + len(line)}
	if q := text[0]; isQuote(q) && len(text) > 1 && text[len(text)-1] == q {
		v.start, v.end, text = v.start+1, v.end-1, text[1:len(text)-1]
	}
	return v, !isPlaceholder(text)
}

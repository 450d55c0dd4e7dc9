package mask

import "strings"

// option examines a command's option whose value is the next word: --password x. It returns where to continue.
func (s *keyScanner) option(i int) int {
	text := s.text
	start := past(text, i, func(c byte) bool { return c == '-' })
	end := past(text, start, isKeyByte)
	begins := i == 0 || isSpace(text[i-1]) || isQuote(text[i-1]) || text[i-1] == '['
	var n *keyName
	if begins && start-i <= 2 {
		if n = s.nameOf(text[start:end]); text[start:end] == "pass" {
			n = s.nameOf("password")
		}
	}
	if n == nil {
		return end
	}
	v, ok := s.word(i, end)
	if !ok || !n.takes(text[v.start:v.end]) {
		return end
	}
	s.replace(v.start, v.end, n.kind.marker())
	return v.end
}

// word returns the value of the option text[i:end]: the next word of a shell command, or the next item of a JSON or YAML list.
func (s *keyScanner) word(i, end int) (v span, ok bool) {
	text, start := s.text, near(s.text, end, 4*maxBlanks, isListGap)
	gap := text[end:start]
	if start == len(text) || !strings.ContainsAny(gap, " \t\n,") {
		return v, false
	}
	switch {
	case strings.Contains(gap, ","):
		if !isQuote(text[start-1]) || !isQuote(text[end]) && text[end] != '\\' {
			return v, false
		}
	case strings.Contains(gap, "\\\n") || strings.Contains(gap, "\\\r\n"): // a continued shell line
	case strings.Contains(gap, "\n"):
		if start, ok = s.itemBelow(i, start); !ok {
			return v, false
		}
	}
	v.start = start
	if isQuote(text[start-1]) {
		v.end = s.closingQuote(i, start, text[start-1], s.backslashes(start-1))
	} else {
		v.end = s.wordEnd(start)
	}
	value := text[v.start:v.end]
	return v, !strings.HasPrefix(value, "-") && !isPlaceholder(value)
}

// itemBelow finds the YAML list item below the item with the option at i.
func (s *keyScanner) itemBelow(i, start int) (int, bool) {
	before := strings.TrimRight(s.text[max(s.done, i-maxBlanks):i], `"'`)
	if !strings.HasSuffix(before, "- ") || !strings.HasPrefix(s.text[start:], "- ") || lineAt(s.text, start).isKey {
		return start, false
	}
	return past(s.text, start+len("- "), isGap), true
}

package mask

import "strings"

const (
	longBase64  = 24 // bytes
	shortBase64 = 4
)

// base64 masks runs of base64: long ones that look random, and short ones that
// are padded and somebody's value.
func (m *Masker) base64(text string) string {
	out := rewrite{text: text}
	for i := 0; i < len(text); {
		if end := markerAt(text, i); end > 0 {
			i = end
			continue
		}
		if !isBase64Byte(text[i]) || text[i] == '=' {
			i++
			continue
		}
		end := past(text, i, func(c byte) bool { return isBase64Byte(c) && c != '=' })
		padding := paddingAt(text, end)
		end += padding
		if k := m.kindOfBase64(text[i:end], padding, padding > 0 && isValue(text, i)); k != none {
			out.replace(i, end, k.marker())
		}
		i = end
	}
	return out.String()
}

// paddingAt counts the padding at i: "=" that nothing is assigned by.
func paddingAt(text string, i int) (n int) {
	for n < 2 && i+n < len(text) && text[i+n] == '=' {
		n++
	}
	if after := i + n; after < len(text) && !isSpace(text[after]) && strings.IndexByte("\"'`,;)]}<\\&", text[after]) < 0 {
		return 0
	}
	return n
}

// isValue reports whether what begins at i stands behind a key.
func isValue(text string, i int) bool {
	if i > 0 && isQuote(text[i-1]) {
		i--
	}
	i = back(text, i, max(0, i-maxBlanks), isBlank)
	return i > 0 && (text[i-1] == ':' || text[i-1] == '=')
}

// kindOfBase64 judges a run of base64. value: it stands behind a key.
func (m *Masker) kindOfBase64(run string, padding int, value bool) kind {
	if len(run)%4 != 0 {
		return none
	}
	if len(run) < longBase64 {
		if m.on.has(base64Short) && value && len(run) >= shortBase64 {
			return base64Short
		}
		return none
	}
	var lowers, uppers, digits, slashes int
	for i := range len(run) {
		switch c := run[i]; {
		case isLower(c):
			lowers++
		case isUpper(c):
			uppers++
		case isDigit(c):
			digits++
		case c == '/':
			slashes++
		}
	}
	path := slashes*8 > len(run) // of a file system
	if m.on.has(base64Secret) && lowers > 0 && uppers > 0 && (digits > 0 || padding > 0) && !path {
		return base64Secret
	}
	return none
}

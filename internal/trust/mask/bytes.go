package mask

func separates(c byte) bool { return c == '_' || c == '-' || c == '.' || c == ' ' }
func isLower(c byte) bool   { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool   { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool   { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool   { return isLower(c) || isUpper(c) || isDigit(c) }
func isBlank(c byte) bool   { return c == ' ' || c == '\t' }
func isSpace(c byte) bool   { return isBlank(c) || c == '\n' || c == '\r' }
func isQuote(c byte) bool   { return c == '"' || c == '\'' || c == '`' }
func isKeyByte(c byte) bool { return isAlnum(c) || c == '_' || c == '-' || c == '.' }

func lower(c byte) byte {
	if isUpper(c) {
		return c - 'A' + 'a'
	}
	return c
}

func isGap(c byte) bool     { return isBlank(c) || isQuote(c) }
func isListGap(c byte) bool { return isSpace(c) || isQuote(c) || c == ',' || c == '\\' }

// past returns the end of the bytes of a class that begin at i.
func past(text string, i int, class func(byte) bool) int {
	for i < len(text) && class(text[i]) {
		i++
	}
	return i
}

// near is past with a maximum number of bytes.
func near(text string, i, most int, class func(byte) bool) int {
	return past(text[:min(len(text), i+most)], i, class)
}

// back returns the beginning of the bytes of a class that end at i, but not before low.
func back(text string, i, low int, class func(byte) bool) int {
	for i > low && class(text[i-1]) {
		i--
	}
	return i
}

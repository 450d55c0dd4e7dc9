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

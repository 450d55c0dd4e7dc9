package mask

import "strings"

const maxScheme = 24 // bytes

// schemes are how credentials in headers are said to be of a kind: one word follows.
var schemes = []string{"bearer", "basic", "token", "apikey", "negotiate", "ntlm", "sso-key", "splunk", "key"}

// scheme is what a value begins with if that is a scheme, blanks and all: "Bearer "; "" = it does not.
func scheme(text string) string {
	end := strings.IndexAny(text[:min(len(text), maxScheme)], " \t")
	if end <= 0 {
		return ""
	}
	for _, word := range schemes {
		if !strings.EqualFold(text[:end], word) {
			continue
		}
		for end < len(text) && isBlank(text[end]) {
			end++
		}
		if end == len(text) || isSpace(text[end]) {
			return ""
		}
		return text[:end]
	}
	return ""
}

// unset are values that are none.
var unset = []string{"true", "false", "null", "none", "nil", "~", "undefined", "<none>", "<nil>", "<unset>", `""`, "''", "{}"}

// isPlaceholder reports whether a value is none, a marker, or says where the secret is.
func isPlaceholder(text string) bool {
	text = strings.TrimSpace(text)
	if end := len(text); text == "" || markerAt(text, 0) == end || strings.Trim(text, "*") == "" {
		return true
	}
	if end := markerAt(text, 0); end > 0 && text[end] == '@' { // in a URL
		return true
	}
	for _, word := range unset {
		if strings.EqualFold(text, word) {
			return true
		}
	}
	return isReference(text)
}

// isReference reports whether a value is only where the secret will come from:
// ${NAME}, $(NAME), {{ name }}, or what kubectl describes so.
func isReference(text string) bool {
	if strings.HasPrefix(text, "<set to the key ") {
		return true
	}
	for _, around := range [][2]string{{"${", "}"}, {"$(", ")"}, {"{{", "}}"}} {
		inner, begins := strings.CutPrefix(text, around[0])
		inner, ends := strings.CutSuffix(inner, around[1])
		if begins && ends && !strings.ContainsFunc(strings.TrimSpace(inner), func(r rune) bool { return r > 'z' || !isKeyByte(byte(r)) }) {
			return true
		}
	}
	return false
}

// random reports whether a word is not one of a language: it has digits, or
// capitals within, or is long.
func random(text string) bool {
	const long = 20
	for i := range len(text) {
		if isDigit(text[i]) || i > 0 && isUpper(text[i]) && isLower(text[i-1]) {
			return len(text) >= 6
		}
	}
	return len(text) >= long && !strings.Contains(text, " ")
}

package tool

import "unicode/utf8"

// glob reports whether the whole text matches a pattern, in which * is any
// text, with any characters in it, and ? is one character. It needs no more
// than the product of the lengths.
func glob(pattern, text string) bool {
	p, t := 0, 0
	star, after := -1, 0 // the last *, and where in the text we go on if it takes one more character
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, after = p, t
			p++
		case p < len(pattern) && pattern[p] == '?':
			p, t = p+1, t+width(text[t:])
		case p < len(pattern) && pattern[p] == text[t]:
			p, t = p+1, t+1
		case star >= 0:
			after += width(text[after:])
			p, t = star+1, after
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

func width(text string) int {
	_, size := utf8.DecodeRuneInString(text)
	return size
}

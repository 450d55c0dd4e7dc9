package mask

import "strings"

// words masks secrets that are recognised by their form: ghp_…, AKIA…, eyJ….….…, Bearer ….
func (m *Masker) words(text string) string {
	s := wordScanner{set: m.on, rewrite: rewrite{text: text}}
	for i := 0; i < len(text); {
		c := text[i]
		forms, credentials := formsBy[c], c == 'B' || c == 'b'
		if i < s.done || len(forms) == 0 && !credentials || !startsWord(text, i) {
			i++
			continue
		}
		next := i + 1
		for f := range forms {
			next = max(next, s.form(&forms[f], i))
		}
		if credentials {
			next = max(next, s.credentials(i))
		}
		i = next
	}
	return s.String()
}

type wordScanner struct {
	set
	rewrite
	// hopeless is the end of a run of characters that is too plain for a token, or for a guess. Any rest of the run is also too
	// plain.
	hopelessJWT, hopelessGuess, hopelessWide int
}

// maxWord is the minimum length, in bytes, of forms that are not base64.
const maxWord = 40

// form masks a secret of the form at i. It returns the end; i means that there is none.
func (s *wordScanner) form(f *form, i int) int {
	if i < s.done || !strings.HasPrefix(s.text[i:], f.prefix) {
		return i
	}
	k := s.first(f.kinds)
	if k == none {
		return i
	}
	hopeless := new(int)
	switch {
	case f.prefix == jwtStart:
		hopeless = &s.hopelessJWT
	case f.guess && f.min > maxWord:
		hopeless = &s.hopelessWide
	case f.guess:
		hopeless = &s.hopelessGuess
	}
	start := i + len(f.prefix)
	end := start
	for i >= *hopeless && end < len(s.text) && f.chars(s.text[end]) && !(f.exact && end-start > f.min) {
		end++
	}
	if !f.fits(s.text, start, end) {
		*hopeless = max(*hopeless, end)
		return i
	}
	for s.text[end-1] == '.' { // end of a sentence
		end--
	}
	if strings.HasSuffix(f.prefix, "/") {
		i = start
	}
	s.replace(i, end, k.marker())
	if k == awsAccessKey {
		s.awsSecret(end)
	}
	return end
}

// awsSecret masks the secret next to a key ID.
func (s *wordScanner) awsSecret(i int) {
	const reach, length = 48, 40
	if !s.has(awsSecretKey) {
		return
	}
	for last := min(len(s.text), i+reach); i < last; i++ {
		end := near(s.text, i, length+1, isBase64Byte)
		if end-i == length && mixed(s.text[i:end]) {
			s.replace(i, end, awsSecretKey.marker())
			return
		}
		i = max(i, end)
	}
}

// first returns the first of some kinds that is in the set.
func (s set) first(kinds []kind) kind {
	for _, k := range kinds {
		if s.has(k) {
			return k
		}
	}
	return none
}

// startsWord reports whether a word begins at i: after a non-letter, or after an escape sequence.
func startsWord(text string, i int) bool {
	switch {
	case i == 0 || !isAlnum(text[i-1]):
		return true
	case i >= 2 && text[i-2] == '\\':
		return strings.IndexByte("nrt", text[i-1]) >= 0
	case i >= 3 && text[i-3] == '%': // %3D
		return true
	}
	return i >= 6 && text[i-6] == '\\' && text[i-5] == 'u'
}

// credentials masks the text after "Bearer" or "Basic" at i. It returns the end; i means that there is none.
func (s *wordScanner) credentials(i int) int {
	k, start := token, i+len("bearer")
	if !hasWord(s.text, i, "bearer") {
		k, start = basicAuth, i+len("basic")
		if !hasWord(s.text, i, "basic") {
			return i
		}
	}
	after := start
	start = past(s.text, start, func(c byte) bool { return isBlank(c) || c == '+' })
	if start == after {
		return i
	}
	end := past(s.text, start, func(c byte) bool { return isTildeByte(c) || isBase64Byte(c) })
	if !s.has(k) || end-start < 8 || !random(s.text[start:end]) {
		return i
	}
	s.replace(start, end, k.marker())
	return end
}

func hasWord(text string, i int, word string) bool {
	return i+len(word) <= len(text) && strings.EqualFold(text[i:i+len(word)], word)
}

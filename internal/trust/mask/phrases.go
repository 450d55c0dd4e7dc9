package mask

import "strings"

// phrases masks secrets that prose and SQL name without a separator:
//
//	the password for bob is x   PASSWORD 'x'   IDENTIFIED BY 'x'   invalid token x
func (m *Masker) phrases(text string) string {
	s := phraseScanner{set: m.on, rewrite: rewrite{text: text}}
	for i := 0; i < len(text); {
		if !isAlnum(text[i]) {
			i++
			continue
		}
		end := past(text, i, isKeyByte)
		s.word(i, end)
		i = max(end, s.done)
	}
	return s.String()
}

type phraseScanner struct {
	set
	rewrite
}

// fillers are words that may be between the name of a secret and its value. "for" and "user" are followed by another word.
var fillers = map[string]bool{
	"is": true, "was": true, "to": true, "now": true, "reset": true, "set": true, "changed": true, "key": true, "by": true, "as": true,
	"has": true, "been": true, "will": true, "be": true, "use": true, "value": true, "=": true, ":": true,
	"lautet": true, "ist": true, "for": true, "user": true, "für": true, "with": true, "mysql_native_password": true,
	"caching_sha2_password": true, "5": true, "7": true, "is:": true, "to:": true,
}

const maxFillers = 6 // words

// word examines whether the word text[i:end] names a secret, and what follows it.
func (s *phraseScanner) word(i, end int) {
	n := s.nameOf(s.text[i:end])
	identified := n == nil && s.has(password) && strings.EqualFold(s.text[i:end], "IDENTIFIED")
	switch {
	case identified:
		n = s.nameOf("password")
	case n == nil || n.looks != nil || end == len(s.text) || i > 0 && (s.text[i-1] == '/' || s.text[i-1] == '$'):
		return
	}
	said := identified // whether a filler announces the value
	for range maxFillers {
		start := end
		for start < len(s.text) && start-end < maxBlanks && (isBlank(s.text[start]) || s.text[start] == '\n' && start == end && s.login(i)) {
			start++
		}
		if start == end && !(start < len(s.text) && s.text[start] == '(') || start == len(s.text) {
			return
		}
		if s.text[start] == '(' && start+1 < len(s.text) && isQuote(s.text[start+1]) {
			start++
		}
		if isQuote(s.text[start]) {
			s.quoted(start, n, said || strings.EqualFold(s.text[i:end], "password") || n.kind == password && end-i > len("pass"))
			return
		}
		stop := past(s.text, start, func(c byte) bool { return !isSpace(c) && !isQuote(c) && c != ',' && c != ';' })
		word := strings.ToLower(s.text[start:stop])
		if fillers[word] {
			if end = stop; word == "for" || word == "user" || word == "für" { // and the user's name
				end = s.nextWord(stop)
			}
			said = said || word != "for" && word != "user" && word != "with"
			continue
		}
		s.bare(i, start, stop, n, said)
		return
	}
}

// nextWord returns the end of the word after i.
func (s *phraseScanner) nextWord(i int) int {
	i = near(s.text, i, maxBlanks, isBlank)
	return near(s.text, i, maxKey, func(c byte) bool { return !isSpace(c) })
}

// login reports whether a word follows a login, as in .netrc.
func (s *phraseScanner) login(i int) bool {
	before := strings.ToLower(s.text[max(s.done, i-2*maxKey):i])
	words := strings.Fields(before)
	n := len(words)
	if n >= 4 && words[n-2] == "account" { // may be between login and password
		n -= 2
	}
	return n >= 2 && words[n-1] != "and" && words[n-1] != "or" && (words[n-2] == "login" || words[n-2] == "username")
}

// quoted masks the text in the quotes at i, if it is short and on one line.
func (s *phraseScanner) quoted(i int, n *keyName, said bool) {
	rest := s.text[:min(len(s.text), i+1+2*maxKey)]
	end := sqlTextEnd(rest, i)
	ok, value := end < len(rest), rest[i+1:end]
	if !ok || !said || strings.ContainsAny(value, "\n") || isPlaceholder(value) || n.kind != password && !random(value) {
		return
	}
	s.replace(i+1, i+1+len(value), n.kind.marker())
}

// bare masks a word that can only be a secret: it has digits and letters. After a login, and in redis configuration, any word can
// be one.
func (s *phraseScanner) bare(i, start, end int, n *keyName, said bool) {
	for end > start && strings.IndexByte(".:!?)]", s.text[end-1]) >= 0 {
		end--
	}
	value := s.text[start:end]
	key := strings.ToLower(s.text[i:min(len(s.text), i+len("requirepass"))])
	ok := s.login(i) || key == "requirepass" || strings.HasPrefix(key, "masterauth")
	switch {
	case ok, value == "", isPlaceholder(value), strings.ContainsAny(value, "=(){}<>/[]"):
	case n.kind == password:
		ok = len(value) >= 6 && strings.ContainsAny(value, "0123456789") && strings.ContainsFunc(value, isLetter)
	default:
		ok = len(value) >= 20 && mixed(value) && !strings.ContainsAny(value, ":.")
	}
	if ok && value != "" && !isPlaceholder(value) && !strings.Contains(value, markerStart) {
		s.replace(start, end, n.kind.marker())
	}
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

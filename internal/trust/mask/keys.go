package mask

import (
	"strings"
	"unicode/utf8"
)

// keys masks the values of keys that are named as secrets:
//
//	password: x   "password":"x"   PASSWORD=x   ?token=x&   <password>x</password>
//	--password x  Authorization: Bearer x       {name: DB_PASSWORD, value: x}
func (m *Masker) keys(text string) string {
	s := keyScanner{set: m.on, rewrite: rewrite{text: text}}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ':', c == '=', c == '>':
			i = s.separator(i)
		case c == '-' && i+1 < len(text) && (text[i+1] == '-' || isAlnum(text[i+1])):
			i = s.option(i)
		default:
			i++
		}
	}
	return s.String()
}

type keyScanner struct {
	set
	rewrite
	// named is the kind that the value of the last key "name" has as a key. It applies to the next key "value".
	named *keyName
	line  span // the last line whose end was searched
	// unclosed is a position: no list that begins before it is closed before it.
	unclosed int
}

// key is a key before a separator.
type key struct {
	name       string
	start, end int
	// open and closed are the quotes before and after it; 0 means none.
	open, closed byte
	// escapes is the number of backslashes before the closing quote.
	escapes int
}

// separator examines the key and the value around the separator at i. It returns where to continue.
func (s *keyScanner) separator(i int) int {
	k, ok := s.keyBefore(i)
	if !ok {
		return i + 1
	}
	n := s.nameOf(k.name)
	if n == nil {
		n = s.nameOf(s.spacedName(k))
	}
	isValue := n == nil && strings.EqualFold(k.name, "value")
	switch {
	case isValue:
		n = s.named
		fallthrough
	case n != nil:
		s.named = nil
	default:
		s.named = s.nameOfNamed(k.name, i)
		return i + 1
	}
	if n == nil && !isValue {
		return i + 1
	}
	v, ok := s.value(k, i, n)
	if n == nil && ok {
		n = s.nameAfter(v.end)
	}
	switch {
	case n != nil && !ok && v.end == 0: // secret: with "value: x" on the line below
		s.named = n
		return i + 1
	case n == nil || ok && !n.takes(s.text[v.start+v.scheme:v.end]):
		return i + 1
	case ok:
		s.replace(v.start, v.end, v.masked(n.kind))
	}
	return max(v.end, i+1)
}

// maxLooked is how far, in bytes, a value is read that must have a certain form.
const maxLooked = 1024

// value finds the value after the separator at i. If the search may be in vain, it covers only a bounded part of the text.
func (s *keyScanner) value(k key, i int, n *keyName) (v value, ok bool) {
	if n != nil && n.looks == nil || len(s.text)-i <= maxLooked {
		return s.valueAfter(k, i, n)
	}
	near := keyScanner{set: s.set, rewrite: rewrite{text: s.text[:i+maxLooked], done: s.done}}
	v, ok = near.valueAfter(k, i, n)
	return v, ok && v.end < len(near.text)
}

const maxBlanks = 8 // between a key and its separator

// keyBefore finds the key that ends before i.
func (s *keyScanner) keyBefore(i int) (k key, ok bool) {
	text := s.text
	end := back(text, i, max(s.done, i-4*maxBlanks), isBlank) // separators may be aligned over several lines
	if end > s.done && text[end-1] == ']' {                   // config["password"] =
		end--
	}
	if end > s.done && isQuote(text[end-1]) {
		end--
		k.closed = text[end]
		for end > s.done && text[end-1] == '\\' {
			end--
			k.escapes++
		}
	}
	start := back(text, end, max(s.done, end-2*maxKey), func(c byte) bool { return isKeyByte(c) || c >= utf8.RuneSelf })
	if start == end || start > 0 && markerAt(text, start-1) > end {
		return k, false
	}
	k.start, k.end, k.name = start, end, text[start:end]
	if start > s.done && (isQuote(text[start-1]) || text[start-1] == '<') {
		k.open = text[start-1]
	}
	// "arn:aws:secretsmanager:eu:1:secret:x" and a::secret:x are names, not pairs.
	path := start > s.done+1 && text[start-1] == ':' && (isKeyByte(text[start-2]) || text[start-2] == ':') &&
		k.closed == 0 && !strings.HasSuffix(text[:start], "$env:")
	return k, !path && !s.isLabel(k, i) && (text[i] != '>' || k.open == '<' && k.end == i)
}

// isLabel reports whether a key is not a secret in spite of its name: a metric label that names a Secret, {secret="db"}, a
// checksum, or the end of a URL in quotes.
func (s *keyScanner) isLabel(k key, i int) bool {
	before := s.text[max(s.done, k.start-2*maxKey):k.start]
	switch {
	case k.closed != 0 && k.open == 0 && strings.HasSuffix(before, "/"):
		return strings.Contains(before, "://")
	case k.name == "secret" && strings.HasPrefix(s.text[i:], `="`) && (strings.HasSuffix(before, ",") || strings.HasSuffix(before, "{")):
		value, _, _ := strings.Cut(s.text[i+2:min(len(s.text), i+2+maxKey)], `"`)
		return !strings.ContainsAny(value, "0123456789") && strings.ToLower(value) == value
	}
	return strings.HasSuffix(before, "checksum/")
}

// spacedName returns the name of a key of several words: "API Key", "Access Key ID".
func (s *keyScanner) spacedName(k key) string {
	start := k.start
	for range 2 {
		first := s.text[start:k.end]
		if !strings.EqualFold(first, "key") && !strings.EqualFold(first, "id") && !strings.EqualFold(first, "key id") {
			break
		}
		if start-2 < s.done || s.text[start-1] != ' ' || !isAlnum(s.text[start-2]) {
			break
		}
		start--
		start = back(s.text, start, max(s.done, start-maxKey), isKeyByte)
	}
	if start == k.start {
		return ""
	}
	return s.text[start:k.end]
}

// nameAfter returns the name that follows its value: value: x, name: DB_PASSWORD.
func (s *keyScanner) nameAfter(i int) *keyName {
	start := near(s.text, i, 4*maxBlanks, isListGap)
	end := near(s.text, start, maxBlanks, isAlnum)
	key := s.text[start:end]
	end = near(s.text, end, start+2*maxBlanks-end, isNameGap)
	if end == len(s.text) || s.text[end] != ':' && s.text[end] != '=' {
		return nil
	}
	return s.nameOfNamed(key, end)
}

// nameOfNamed returns the name in `name: DB_PASSWORD`, whose value comes next.
func (s *keyScanner) nameOfNamed(key string, i int) *keyName {
	if !strings.EqualFold(key, "name") && !strings.EqualFold(key, "key") {
		return nil
	}
	start := near(s.text, i+1, maxBlanks-1, isNameGap)
	return s.nameOf(s.text[start:near(s.text, start, 2*maxKey, isKeyByte)])
}

func isNameGap(c byte) bool { return isGap(c) || c == '\\' }

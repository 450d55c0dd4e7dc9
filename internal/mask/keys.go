package mask

import "strings"

// keys masks what stands behind keys that are named as secrets:
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
	// named is the kind that the value of the last key "name" has as a key: of
	// what the next key "value" has.
	named kind
	line  span // the last one whose end was looked for
	// unclosed: no list ends before it that begins before it.
	unclosed int
}

// key is a key in front of a separator.
type key struct {
	name       string
	start, end int
	// open and closed are the quotes before and after it; 0 = none.
	open, closed byte
	// escapes are the backslashes before the quote after it.
	escapes int
}

// separator looks at the key and the value around the separator at i. It returns where to go on.
func (s *keyScanner) separator(i int) int {
	k, ok := s.keyBefore(i)
	if !ok {
		return i + 1
	}
	kind := s.kindOfKey(k.name)
	if kind == none {
		kind = s.kindOfKey(s.spacedName(k))
	}
	switch {
	case kind == none && strings.EqualFold(k.name, "value"):
		kind = s.named
		fallthrough
	case kind != none:
		s.named = none
	default:
		s.named = s.kindOfNamed(k, i)
		return i + 1
	}
	if kind == none {
		return i + 1
	}
	v, ok := s.valueAfter(k, i, kind)
	if !ok {
		return max(v.end, i+1)
	}
	s.replace(v.start, v.end, v.masked(kind))
	return max(v.end, i+1)
}

const maxBlanks = 8 // between a key and its separator

// keyBefore finds the key that ends before i.
func (s *keyScanner) keyBefore(i int) (k key, ok bool) {
	text, end := s.text, i
	for n := 0; n < maxBlanks && end > s.done && isBlank(text[end-1]); n++ {
		end--
	}
	if end > s.done && text[end-1] == ']' { // config["password"] =
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
	start := end
	for start > s.done && end-start < 2*maxKey && isKeyByte(text[start-1]) {
		start--
	}
	if start == end || start > 0 && markerAt(text, start-1) > end {
		return k, false
	}
	k.start, k.end, k.name = start, end, text[start:end]
	if start > s.done && (isQuote(text[start-1]) || text[start-1] == '<') {
		k.open = text[start-1]
	}
	// "arn:aws:secretsmanager:eu:1:secret:x" and a::secret:x are names, not pairs.
	path := start > s.done+1 && text[start-1] == ':' && (isKeyByte(text[start-2]) || text[start-2] == ':') && k.closed == 0
	return k, !path && (text[i] != '>' || k.open == '<' && k.end == i)
}

// spacedName is the name of a key of several words: "API Key", "Access Key ID".
func (s *keyScanner) spacedName(k key) string {
	start := k.start
	for range 2 {
		if first := s.text[start:k.end]; !strings.EqualFold(first, "key") && !strings.EqualFold(first, "id") && !strings.EqualFold(first, "key id") {
			break
		}
		if start-2 < s.done || s.text[start-1] != ' ' || !isAlnum(s.text[start-2]) {
			break
		}
		start--
		for low := max(s.done, start-maxKey); start > low && isKeyByte(s.text[start-1]); {
			start--
		}
	}
	if start == k.start {
		return ""
	}
	return s.text[start:k.end]
}

// kindOfNamed is the kind of the thing that `name: DB_PASSWORD` names, whose value comes next.
func (s *keyScanner) kindOfNamed(k key, i int) kind {
	if !strings.EqualFold(k.name, "name") && !strings.EqualFold(k.name, "key") {
		return none
	}
	start := i + 1
	for start < len(s.text) && start-i < maxBlanks && (isBlank(s.text[start]) || isQuote(s.text[start]) || s.text[start] == '\\') {
		start++
	}
	end := start
	for end < len(s.text) && end-start < 2*maxKey && isKeyByte(s.text[end]) {
		end++
	}
	return s.kindOfKey(s.text[start:end])
}

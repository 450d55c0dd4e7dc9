package remember

import (
	"encoding/json"
	"strings"
)

// flat parses an object of plain strings, integers and literals, as nearly all arguments are. It is ten times faster than
// encoding/json, which matters because rules are tried on 100,000 calls. It returns false for all other objects and for invalid
// JSON.
func flat(text string) (args map[string]any, ok bool) {
	f := flatText(text)
	args = map[string]any{}
	if !f.next('{') {
		return nil, false
	}
	for first := true; !f.next('}'); first = false {
		if !first && !f.next(',') {
			return nil, false
		}
		name, named := f.text()
		if _, twice := args[name]; !named || twice || !f.next(':') {
			return nil, false
		}
		if args[name], ok = f.value(); !ok {
			return nil, false
		}
	}
	return args, f == ""
}

// flatText is the rest of the text.
type flatText string

// next consumes a character and the spaces after it.
func (f *flatText) next(c byte) bool {
	if *f == "" || (*f)[0] != c {
		return false
	}
	*f = flatText(strings.TrimLeft(string((*f)[1:]), " "))
	return true
}

// text parses a string of printable ASCII without escapes.
func (f *flatText) text() (string, bool) {
	if *f == "" || (*f)[0] != '"' {
		return "", false
	}
	for n := 1; n < len(*f); n++ {
		switch c := (*f)[n]; {
		case c == '"':
			text := string((*f)[1:n])
			*f = (*f)[n:]
			return text, f.next('"')
		case c == '\\' || c < ' ' || c > '~':
			return "", false
		}
	}
	return "", false
}

// value parses a string, an integer of at most 18 digits, or a literal.
func (f *flatText) value() (any, bool) {
	if text, ok := f.text(); ok {
		return text, true
	}
	end := strings.IndexAny(string(*f), ",} ")
	if end <= 0 {
		return nil, false
	}
	word := string((*f)[:end])
	*f = flatText(strings.TrimLeft(string((*f)[end:]), " "))
	switch word {
	case "true":
		return true, true
	case "false":
		return false, true
	case "null":
		return nil, true
	}
	number := strings.Trim(word, "0123456789") == "" && len(word) <= 18 && (word[0] != '0' || word == "0")
	return json.Number(word), number
}

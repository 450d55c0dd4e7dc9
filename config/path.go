package config

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// path leads to a value of the configuration, from the top.
type path struct {
	text string
	// entry is the path of the named entry that the value is part of
	// ("agents.LogAgent"): what is replaced, used or refused as a whole.
	entry string
	name  string // the last key, in full
	depth int
}

const maxKeyInPath = 100 // characters of a key that are shown; keys can be of any size

// plainKey reports whether a key needs no quotes: it has only letters, digits, _ and -.
func plainKey(name string) bool {
	odd := func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	return name != "" && !strings.ContainsFunc(name, odd)
}

// entryPath is the path of a named entry of a section.
func entryPath(section, name string) path { return path{}.key(section).key(name) }

// key is the path of a mapping's value.
func (p path) key(name string) path {
	c := p.child(p.suffix(name))
	c.name = name
	return c
}

func (p path) suffix(name string) string {
	if utf8.RuneCountInString(name) > maxKeyInPath {
		name = string([]rune(name)[:maxKeyInPath]) + "…"
	}
	switch {
	case !plainKey(name):
		return "[" + strconv.Quote(name) + "]"
	case p.depth == 0:
		return name
	}
	return "." + name
}

// index is the path of a list's item.
func (p path) index(i int) path { return p.child("[" + strconv.Itoa(i) + "]") }

func (p path) child(suffix string) path {
	c := path{text: p.text + suffix, entry: p.entry, depth: p.depth + 1}
	if c.depth <= 2 {
		c.entry = c.text
	}
	return c
}

// parent cuts the last element off the text of a path; "" has no parent.
func parent(text string) string {
	if strings.HasSuffix(text, `"]`) {
		return text[:max(0, strings.LastIndex(text, `["`))]
	}
	return text[:max(0, strings.LastIndexAny(text, ".["))]
}

// dotted is the path of a value within, by the text that leads there from p:
// "compression.strategy".
func (p path) dotted(text string) path {
	p.text += "." + text
	return p
}

package strict

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/inquest-dev/inquest/internal/kit/clip"
)

// Path leads to a value, from the top of a file.
type Path struct {
	Text string
	// Entry is the path of the named entry that contains the value ("agents.LogAgent"). An entry is replaced, used or
	// refused as a whole.
	Entry string
	Name  string // the last key, in full
	depth int
}

const maxKeyInPath = 100 // maximum characters of a key in a path, because keys can have any size

// plainKey reports whether a key needs no quotes: it has only letters, digits, _ and -.
func plainKey(name string) bool {
	odd := func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	return name != "" && !strings.ContainsFunc(name, odd)
}

// Key returns the path of a mapping's value.
func (p Path) Key(name string) Path {
	c := p.child(p.suffix(name))
	c.Name = name
	return c
}

func (p Path) suffix(name string) string {
	if len(name) > maxKeyInPath {
		name = clip.Line(name, maxKeyInPath)
	}
	switch {
	case !plainKey(name):
		return "[" + strconv.Quote(name) + "]"
	case p.depth == 0:
		return name
	}
	return "." + name
}

// Index returns the path of a list's item.
func (p Path) Index(i int) Path { return p.child("[" + strconv.Itoa(i) + "]") }

func (p Path) child(suffix string) Path {
	c := Path{Text: p.Text + suffix, Entry: p.Entry, depth: p.depth + 1}
	if c.depth <= 2 {
		c.Entry = c.Text
	}
	return c
}

// Parent cuts the last element off the text of a path. An empty path has no parent.
func Parent(text string) string {
	if strings.HasSuffix(text, `"]`) {
		return text[:max(0, strings.LastIndex(text, `["`))]
	}
	return text[:max(0, strings.LastIndexAny(text, ".["))]
}

// Dotted returns the path of a value below p, by the text that leads there: "compression.strategy".
func (p Path) Dotted(text string) Path {
	p.Text += "." + text
	return p
}

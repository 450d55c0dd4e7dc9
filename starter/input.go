package main

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// text is what an argument stands for: itself, a file's content (@path), or what
// comes on standard input (-).
func (c *cli) text(what, arg string) (string, error) {
	var raw []byte
	var err error
	switch {
	case arg == "-":
		raw, err = io.ReadAll(c.in)
	case strings.HasPrefix(arg, "@"):
		raw, err = os.ReadFile(arg[1:])
	default:
		raw = []byte(arg)
	}
	if err != nil {
		return "", usagef("%s: %w", what, err)
	}
	if !utf8.Valid(raw) {
		return "", usagef("%s is not valid UTF-8 text", what)
	}
	return string(raw), nil
}

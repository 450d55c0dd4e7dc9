package runbook_test

import (
	"testing"

	"github.com/inquest-dev/inquest/internal/knowledge/runbook"
)

// TestSources: what counts as an address, as a file's name, and as text.
func TestSources(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://github.com/a":       "url",
		" HTTPS://github.com/a\n":    "url",
		"http://github.com/a":        "url",
		"https://":                   "url",
		"See https://github.com/a":   "text",
		"https://github.com/a first": "text",
		"https://a.b/c\nhttps://d.e": "text",
		"ftp://github.com/a":         "text",
		"":                           "text",
		"file:runbooks/db.md":        "file runbooks/db.md",
		"file:my runbook.md\n":       "file my runbook.md",
		"file:../db.md":              "file ../db.md",
		"file:":                      "text",
		"file: a ticket":             "text",
		"file:a\n1. Look":            "text",
		"1. Check the disk":          "text",
	} {
		got := "text"
		path, ok := runbook.File(text)
		switch {
		case ok:
			got = "file " + path
		case runbook.IsURL(text):
			got = "url"
		}
		if got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// TestShown: an address is shown without what may be secret.
func TestShown(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://me:pw@docs.example.com/a%20b?key=1#x": "https://docs.example.com/a%20b",
		" https://docs.example.com ":                   "https://docs.example.com",
		"https://docs.example.com/%zz?key=1":           "(not a valid URL)",
	} {
		if got := runbook.Shown(address); got != want {
			t.Errorf("%s is shown as %s, want %s", address, got, want)
		}
	}
}

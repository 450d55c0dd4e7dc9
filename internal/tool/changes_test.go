package tool_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/tool"
)

// offer is a list of tools. Each is a name, and a description behind a colon. It is partial if the last of them is "…".
func offer(tools string) tool.Catalogue {
	c := tool.Catalogue{Server: "s"}
	for _, text := range strings.Fields(tools) {
		if text == "…" {
			c.Partial = "a page failed"
			continue
		}
		name, description, _ := strings.Cut(text, ":")
		c.Tools = append(c.Tools, tool.Spec{Name: name, Description: description})
	}
	return c
}

var definition = regexp.MustCompile(` \(definition [0-9a-f]{8}[^)]*\)`)

// TestChangesOfPartialLists checks that a partial list makes no tool seem new or removed, and hides no change.
func TestChangesOfPartialLists(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lists []string // in the order in which the server returned them
		want  string   // the changes of the last one
	}{
		"the first":                      {[]string{"a …"}, ""},
		"complete":                       {[]string{"a b", "a c"}, "c is new; b was removed"},
		"a part of it":                   {[]string{"a b", "a …"}, ""},
		"a part with a new tool":         {[]string{"a b", "c …"}, "c is new"},
		"a part, then complete":          {[]string{"a b", "a …", "a b"}, ""},
		"a part, then another tool":      {[]string{"a b", "a …", "a b c"}, "c is new"},
		"a part, then removed":           {[]string{"a b", "a …", "a"}, "b was removed"},
		"a part, then changed":           {[]string{"a b", "a …", "a b:x"}, "b has changed: description"},
		"a changed part, then complete":  {[]string{"a b", "a:x …", "a:x b"}, ""},
		"only a part, then complete":     {[]string{"a …", "a b"}, ""},
		"only a part, then changed":      {[]string{"a …", "a:x b"}, "a has changed: description"},
		"only parts, then complete":      {[]string{"a …", "b …", "a:x b c"}, "a has changed: description"},
		"only a part, then removed":      {[]string{"a …", "b"}, "a was removed"},
		"only a part, complete, another": {[]string{"a …", "a b", "a b c"}, "c is new"},
	} {
		var last tool.Catalogue
		var lines []string
		for _, list := range tc.lists {
			lines = tool.Changes(last, offer(list))
			last = offer(list).After(last)
		}
		if got := definition.ReplaceAllString(strings.Join(lines, "; "), ""); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestRememberedOffersAreLimited checks that a server with other tools in every partial list fills no memory.
func TestRememberedOffersAreLimited(t *testing.T) {
	t.Parallel()
	var last tool.Catalogue
	for n := range 10 {
		var names []string
		for m := range 400 {
			names = append(names, fmt.Sprintf("t%d_%d", n, m))
		}
		last = offer(strings.Join(append(names, "…"), " ")).After(last)
	}
	if n := len(last.Tools); n > 1000 || !slices.ContainsFunc(last.Tools, func(s tool.Spec) bool { return s.Name == "t0_0" }) {
		t.Errorf("%d tools are remembered", n)
	}
}

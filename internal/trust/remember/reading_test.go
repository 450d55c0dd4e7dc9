package remember

import (
	"strings"
	"testing"
)

// A rule explains each pattern, with examples that match and examples that do not.
func TestReadings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tool, argument, glob string
		want                 []string
	}{
		"a name": {"k8s.scale", "namespace", "dev-*", []string{"read as a name", `matches "dev-x", "dev-x.prod"`,
			`does not match "dev-x y", "dev-x/y"`}},
		"a host":   {"dns.get", "host", "*.example.com", []string{`matches "x.example.com", "x.prod.example.com"`}},
		"a folder": {"fs.read", "path", "/srv/dev/*", []string{`matches "/srv/dev/x"`, `"/srv/dev/x/y", "/srv/dev/../x"`}},
		"any":      {"k8s.note", "comment", "*", []string{"matches any value, including sentences and numbers", `"a sentence; with anything"`}},
		"a command line": {"shell", "command", "kubectl get pods -n dev-*", []string{"read as a command line",
			`matches "kubectl get pods -n dev-x", "kubectl get pods -n dev-x.y"`,
			`does not match "kubectl get pods -n dev-x y", "kubectl get pods -n dev-x; id"`}},
		"a text": {"k8s.note", "comment", "hello", []string{"matches only this text"}},
	} {
		r := Rule{Tool: test.tool, Arguments: map[string]Pattern{test.argument: {Glob: test.glob}, "n": {Equals: []byte("1")}}}
		got := r.Readings()
		if len(got) != 1 || !strings.HasPrefix(got[0], test.argument+" like "+test.glob+": ") {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(got[0], want) {
				t.Errorf("%s: %q has no %q", name, got[0], want)
			}
		}
	}
}

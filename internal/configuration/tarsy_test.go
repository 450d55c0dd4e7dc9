package configuration

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"github.com/inquest-dev/inquest/internal/agent"
)

// scenarios is how many of TARSy's end-to-end scenarios load each configuration directory: the tests in its test/e2e, except the unit
// test of normalize_test.go. Three scenarios of session_headers_test.go share one function that loads theirs.
var scenarios = map[string]int{
	"action-chain": 1, "builtin-orchestrator": 1, "cancellation": 1, "failure-propagation": 1, "failure-resilience": 1, "fallback": 5,
	"memory": 4, "memory-reflector": 3, "multi-replica": 1, "native-tool-fallback": 3, "orchestrator": 6, "orchestrator-cancel": 1,
	"pipeline": 1, "review-workflow": 7, "scoring": 5, "scoring-defaults": 1, "session-headers": 3, "skills": 3, "skills-dir-layout": 1,
	"skills-orchestrator": 1, "timeout": 1, "usage-cost": 2,
	"concurrency": 8, // its own, the dashboard's, four of runbook_test.go, and two of slack_test.go
}

// TestTarsyLoads loads the 23 configuration directories that TARSy's 61 end-to-end scenarios share, and the settings that some of the
// scenarios change in Go (set-in-go). Every value in them is in the configuration in force, or has a finding that says what to use
// instead: nothing is ignored silently.
func TestTarsyLoads(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/tarsy/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	covered := 0
	for _, name := range names {
		directory := strings.TrimSuffix(filepath.Base(name), ".txtar")
		if covered += scenarios[directory]; scenarios[directory] == 0 && directory != "set-in-go" {
			t.Errorf("no scenario loads %s", directory)
		}
	}
	if len(names) != len(scenarios)+1 || covered != 61 {
		t.Errorf("%d files cover %d scenarios", len(names), covered)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			src, _ := unpack(t, archive)
			if _, err := Load(src); err != nil {
				t.Fatal(err)
			}
			c, findings := Check(src)
			_, values, err := Show(c, ShowOptions{Secrets: true})
			if err != nil {
				t.Fatal(err)
			}
			var paths []string // that are in force, or have a finding
			for _, v := range values {
				paths = append(paths, v.Path, v.From.Path)
			}
			for _, f := range findings {
				paths = append(paths, f.Path)
			}
			for _, f := range archive.Files {
				var root yaml.Node
				if !strings.HasSuffix(f.Name, ".yaml") {
					continue
				}
				if err := yaml.Unmarshal(f.Data, &root); err != nil {
					t.Fatal(err)
				}
				for _, value := range valuesOf(root.Content[0], path{}) {
					if !slices.ContainsFunc(paths, func(p string) bool { return p == value || inside(value, p) || inside(p, value) }) {
						t.Errorf("%s: %s is ignored", f.Name, value)
					}
				}
			}
		})
	}
}

// valuesOf returns the paths of the values of a node that are not mappings.
func valuesOf(n *yaml.Node, at path) (paths []string) {
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		for i := 0; i < len(n.Content); i += 2 {
			paths = append(paths, valuesOf(n.Content[i+1], at.Key(n.Content[i].Value))...)
		}
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		for i, item := range n.Content {
			paths = append(paths, valuesOf(item, at.Index(i))...)
		}
	default:
		paths = append(paths, at.Text)
	}
	return paths
}

// inside reports whether a path is that of a part of the value at another path.
func inside(path, whole string) bool {
	rest, ok := strings.CutPrefix(path, whole)
	return ok && whole != "" && rest != "" && strings.ContainsAny(rest[:1], ".[")
}

// TestUserOfURL checks that the user name and password of a URL reach neither plans nor transports nor what is shown.
func TestUserOfURL(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/tarsy/concurrency.txtar")
	if err != nil {
		t.Fatal(err)
	}
	src, _ := unpack(t, archive)
	c, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Plan(agent.Request{Chain: "concurrency-chain"})
	if err != nil {
		t.Fatal(err)
	}
	transport, err := c.Transport("http-probe-server")
	if err != nil {
		t.Fatal(err)
	}
	shown, _, err := Show(c, ShowOptions{Secrets: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := transport.URL; got != "https://mcp.example.com/v1?api_key=E2E_SENTINEL_QUERY" {
		t.Errorf("the server's URL is %s", got)
	}
	for _, text := range []string{planJSON(t, p), string(shown)} {
		if !strings.Contains(text, "https://llm.example.com/v1?") {
			t.Errorf("no URL in %s", text)
		}
		for _, secret := range []string{"E2E_SENTINEL_BASE_URL", "E2E_SENTINEL_URL_SECRET"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in %s", secret, text)
			}
		}
	}
}

func TestWithoutUser(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "https://h/v1": "https://h/v1", "https://u@h": "https://h", "https://u:p@h:8/x?y=a@b#c": "https://h:8/x?y=a@b#c",
		"https://u:p@q@h/": "https://h/", "https://h/@x": "https://h/@x", "https://u:p@h/{{.SESSION_ID}}": "https://h/{{.SESSION_ID}}",
	} {
		if got := withoutUser(text); got != want {
			t.Errorf("withoutUser(%q) = %q", text, got)
		}
	}
}

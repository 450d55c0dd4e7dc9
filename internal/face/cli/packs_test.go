package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/knowledge/pack"
)

// packs lists what can be used from here, and what each of the others lacks.
func TestPacks(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "npx"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PATH": bin, "HOME": t.TempDir(), "GITHUB_TOKEN": "t0p-s3cret", "PROMETHEUS_URL": "http://127.0.0.1:1"}
	call := func(want int, args ...string) string {
		t.Helper()
		var out strings.Builder
		code := run(t.Context(), args, base.CLI{Out: &out, Err: &out, Getenv: func(name string) string { return env[name] }})
		if code != want {
			t.Errorf("%v: exit code %d\n%s", args, code, &out)
		}
		return out.String()
	}
	list := strings.Join(strings.Fields(call(0, "packs")), " ")
	for _, want := range []string{
		"github usable GitHub: repositories, commits",
		"prometheus - Prometheus: metrics, targets and their metadata " +
			"→ PROMETHEUS_URL: cannot connect to 127.0.0.1:1: connect: connection refused slack -",
		"→ uvx is not in PATH: install uv",
		"→ mcp-grafana is not in PATH: go install github.com/grafana/mcp-grafana/cmd/mcp-grafana@v",
		"kubernetes - Kubernetes: objects, events and logs of the cluster in your kubeconfig, with Secrets masked " +
			"→ no kubeconfig with a current context: set KUBECONFIG loki",
		"→ dbhub.toml is not in this folder. It must contain the",
	} {
		if !strings.Contains(list, want) {
			t.Errorf("packs does not print %q:\n%s", want, list)
		}
	}
	var all []struct {
		Name    string
		Usable  bool
		Missing []string
	}
	if err := json.Unmarshal([]byte(call(0, "packs", "--json")), &all); err != nil {
		t.Fatal(err)
	}
	var usable []string
	for _, s := range all {
		if s.Usable != (len(s.Missing) == 0) {
			t.Errorf("%s is usable (%t), but lacks %q", s.Name, s.Usable, s.Missing)
		}
		if s.Usable {
			usable = append(usable, s.Name)
		}
	}
	if len(all) != 14 || !slices.Equal(usable, []string{"github"}) {
		t.Errorf("%d packs, usable: %v", len(all), usable)
	}
	one := call(0, "packs", "show", "prometheus")
	for _, want := range []string{
		"npx -y prometheus-mcp@", "PROMETHEUS_URL: the URL", "prometheus_query {", "prometheus_query_range", "examples/kind",
	} {
		if !strings.Contains(one, want) {
			t.Errorf("packs show does not print %q:\n%s", want, one)
		}
	}
	help := strings.Join(strings.Fields(call(0, "packs", "--help")), " ")
	var hosted []string
	for _, p := range pack.All() {
		shown := call(0, "packs", "show", p.Name)
		if strings.Contains(shown, "cannot be pinned") != (p.URL != "") || !strings.Contains(shown, strings.Join(p.Sites, " or ")) {
			t.Errorf("packs show does not print whether the version is pinned, or the sites:\n%s", shown)
		}
		if p.URL != "" {
			hosted = append(hosted, p.Name)
		}
	}
	last := len(hosted) - 1
	want := strings.Join(hosted[:last], ", ") + " and " + hosted[last] + ", so their versions cannot be pinned"
	if !strings.Contains(help, want) {
		t.Errorf("the help does not say %q:\n%s", want, help)
	}
	if got := call(2, "packs", "show", "githab"); !strings.Contains(got, `did you mean "github"?`) {
		t.Errorf("an unknown pack: %s", got)
	}
	if strings.Contains(list+one, "t0p-s3cret") {
		t.Error("a variable's value is printed")
	}
}

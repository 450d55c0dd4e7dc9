package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The values of the how-to page work, and make the Deployment and the ConfigMap that its commands name.
func TestHowTo(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-to/deploy-on-kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no values")
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, block[1], 0o600); err != nil {
		t.Fatal(err)
	}
	o := render(t, file)
	if len(o.deployments) != 1 || !strings.Contains(string(page), "deploy/"+o.deployments[0].Name+" --") {
		t.Errorf("objects %v are not those of the page", o.names)
	}
}

// Values that can only be mistakes are refused, with the place.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ values, want string }{
		"nothing set":         {`{}`, "image/repository"},
		"no address":          {`{image: {repository: r, tag: "1"}}`, "temporal/address"},
		"an unknown key":      {`{worker: {replicsa: 3}}`, "replicsa"},
		"an unknown role key": {`{roles: {main: {replicsa: 3}}}`, "replicsa"},
		"no role":             {`{roles: {main: null}}`, "roles"},
		"a secret as text":    {`{worker: {env: {OPENAI_API_KEY: sk-1}}}`, "worker/env"},
		"a store as text":     {`{roles: {main: {env: {INQUEST_STORE: x}}}}`, "roles/main/env"},
		"a password in a URL": {`{worker: {env: {PROXY: "http://me:secret@proxy"}}}`, "worker/env/PROXY"},
		"a password in a flag": {`{worker: {extraArgs: ["--store=postgres://me:secret@db/x"]}}`,
			"worker/extraArgs"},
		"a monitor of nothing": {`{serviceMonitor: {enabled: true}}`, "set http on a role"},
		"a number as text":     {`{worker: {replicas: "3"}}`, "worker/replicas"},
		"a long role":          {`{roles: {a-role-with-a-long-name: {}}}`, "a-role-with-a-long-name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(file, []byte(c.values), 0o600); err != nil {
				t.Fatal(err)
			}
			files := []string{chartDir, "testdata/required.yaml", file}
			if strings.HasPrefix(name, "no") && name != "no role" {
				files = slices.Delete(files, 1, 2)
			}
			out, err := exec.Command(helm, files...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, without %q:\n%s", err, c.want, out)
			}
		})
	}
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/local"
)

// All wrong flags are reported at once, before anything is asked or written.
func TestInitRefuses(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"--provider anthropic --prometheus localhost:9090": {"such as anthropic:claude-sonnet-5-5", "--prometheus: expected a URL"},
		"--provider clippy:1 --loki http://u:p@h":          {`provider "clippy:1"`, "--loki: enter the URL without a user and password"},
		"--provider ollama:m --base-url http://h/v1":       {"--base-url needs a provider of type openai"},
		"--pack kubernetes,promotheus --pack slak": {
			`no pack "promotheus" (starter packs lists all); did you mean "prometheus"?`, `no pack "slak"`},
	} {
		dir := filepath.Join(t.TempDir(), "inquest")
		var out, errs strings.Builder
		code := run(t.Context(), append([]string{"init", dir, "--yes"}, strings.Fields(args)...),
			base.CLI{Out: &out, Err: &errs, Getenv: func(string) string { return "" }, Full: local.Full()})
		for _, text := range want {
			if code != 2 || !strings.Contains(errs.String(), text) {
				t.Errorf("%s: exit code %d, without %q:\n%s", args, code, text, &errs)
			}
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: %s was made", args, dir)
		}
	}
}

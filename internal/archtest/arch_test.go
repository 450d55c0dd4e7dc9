package archtest

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/inquest-dev/inquest/internal/goldentest"
	"golang.org/x/tools/txtar"
)

func TestArchitecture(t *testing.T) {
	t.Parallel()
	code := load(t, os.DirFS("../.."))
	if len(code["internal/agent"]) == 0 {
		t.Fatal("this is not the root of the module")
	}
	for _, problem := range check(code, ourLimits) {
		t.Error(problem)
	}
	if long := advise(code, ourLimits); len(long) > 0 {
		t.Logf("longer than the style asks for:\n%s", strings.Join(long, "\n"))
	}
	for name := range backgrounds {
		if _, err := os.Stat("../../" + name); err == nil && !makesContext(code, name) {
			t.Errorf("%s makes no context any more: take it off the list", name)
		}
	}
}

func check(code tree, l limits) []string {
	var problems []string
	for _, rule := range importRules {
		problems = append(problems, rule.check(code)...)
	}
	return append(problems, checkShape(code, l)...)
}

func makesContext(code tree, name string) bool {
	for _, files := range code {
		for _, f := range files {
			if f.path == name {
				return len(checkContext(f)) > 0
			}
		}
	}
	return false
}

// TestChecks runs the checks on a tree that breaks every rule and on one that barely keeps them. Each archive's
// comment is the expected output.
func TestChecks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"broken", "kept"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := checkArchive(t, "testdata/"+name+".txtar")
			if (len(problems) > 0) != (name == "broken") {
				t.Errorf("%d problems", len(problems))
			}
		})
	}
}

func TestEveryRuleCanFail(t *testing.T) {
	t.Parallel()
	said := strings.Join(checkArchive(t, "testdata/broken.txtar"), "\n")
	whys := map[string]bool{"has no package comment": true, "has an init": true, "makes a context": true, "lines, more than": true,
		"names the provider": true}
	for _, rule := range importRules {
		if whys[rule.why] {
			t.Errorf("two rules have the reason %q", rule.why)
		}
		whys[rule.why] = true
	}
	for why := range whys {
		if !strings.Contains(said, why) {
			t.Errorf("nothing breaks the rule %q", why)
		}
	}
}

func checkArchive(t *testing.T, name string) []string {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	root, err := txtar.FS(archive)
	if err != nil {
		t.Fatal(err)
	}
	problems := check(load(t, root), limits{file: 12, function: 5, width: 140})
	got := strings.Join(append(problems, ""), "\n")
	if goldentest.Updating() {
		archive.Comment = []byte(got)
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(archive.Comment), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	return problems
}

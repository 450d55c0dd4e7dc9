package archtest

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/inquest-dev/inquest/internal/kit/goldentest"
)

func TestArchitecture(t *testing.T) {
	t.Parallel()
	code := load(t, os.DirFS("../.."))
	if len(code["internal/agent"]) == 0 {
		t.Fatal("this is not the root of the module")
	}
	for _, problem := range check(code, ourLimits, ourRatchets) {
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

func check(code tree, l limits, r ratchets) []string {
	var problems []string
	for _, rule := range importRules {
		problems = append(problems, rule.check(code)...)
	}
	problems = append(problems, checkShape(code, l)...)
	return append(problems, checkRatchets(code, r)...)
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
			problems := checkArchive(t, name)
			if (len(problems) > 0) != (name == "broken") {
				t.Errorf("%d problems", len(problems))
			}
		})
	}
}

func TestEveryRuleCanFail(t *testing.T) {
	t.Parallel()
	said := strings.Join(checkArchive(t, "broken"), "\n")
	whys := map[string]bool{"has no package comment": true, "has an init": true, "makes a context": true, "lines, more than": true,
		"names the provider": true, "Go files, more than 2": true, "methods, more than 1": true, "more than the 3 on the list": true,
		"fixed sleeps, more than 0": true, "fewer than the 4 on the list: lower it": true, "take it off the list": true}
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

// archived has the ratchets of the archives. In the broken one, each place is another case: too many, more than listed, fewer
// than listed, few enough, and gone. In the other one, the counts are as listed.
var archived = map[string]ratchets{
	"broken": {
		files: ratchet{what: "Go files", most: 2, listed: map[string]int{"internal/wide": 3, "internal/narrower": 4, "internal/gone": 3}},
		methods: ratchet{what: "methods", most: 1, listed: map[string]int{
			"internal/wide.listed": 2, "internal/wide.fewer": 3, "internal/wide.few": 2}},
		sleeps: ratchet{what: "fixed sleeps"},
	},
	"kept": {
		files:   ratchet{what: "Go files", most: 2, listed: map[string]int{"internal/devserver": 3}},
		methods: ratchet{what: "methods", most: 1, listed: map[string]int{"internal/devserver.wide": 2}},
		sleeps:  ratchet{what: "fixed sleeps", listed: map[string]int{"internal/devserver/wide_test.go": 1}},
	},
}

func checkArchive(t *testing.T, name string) []string {
	t.Helper()
	path := "testdata/" + name + ".txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root, err := txtar.FS(archive)
	if err != nil {
		t.Fatal(err)
	}
	problems := check(load(t, root), limits{file: 12, function: 5, width: 140}, archived[name])
	got := strings.Join(append(problems, ""), "\n")
	if goldentest.Updating() {
		archive.Comment = []byte(got)
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(archive.Comment), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	return problems
}

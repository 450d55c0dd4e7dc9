package archtest

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPromises checks that docs/maintaining/promises.md lists the README's promises with tests that exist.
func TestPromises(t *testing.T) {
	t.Parallel()
	readme, promises := page(t, "README.md"), page(t, "docs/maintaining/promises.md")
	if n := len(strings.Fields(readme)); n > 700 {
		t.Errorf("the README has %d words, more than 700: docs/ has the rest", n)
	}
	_, section, _ := strings.Cut(readme, "\n## Promises\n")
	section, _, _ = strings.Cut(section, "\n## ")
	made := regexp.MustCompile(`(?m)^- (.+)$`).FindAllStringSubmatch(section, -1)
	if len(made) < 5 {
		t.Errorf("the README makes %d promises: does this test still find them?", len(made))
	}
	for _, promise := range made {
		if !strings.Contains(promises, "\n| "+promise[1]+" | `Test") {
			t.Errorf("docs/maintaining/promises.md names no test for: %s", promise[1])
		}
	}
	tests := testNames(t)
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(promises, -1) {
		if !tests[name[1]] {
			t.Errorf("docs/maintaining/promises.md names %s, and there is no such test", name[1])
		}
	}
}

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testNames are those of all tests of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules" ||
			strings.HasPrefix(entry.Name(), ".") && path != "."):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, path)
		for _, name := range declared.FindAllSubmatch(text, -1) {
			names[string(name[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

package workflows

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestChangesAreListed finds the change IDs in the source, because workers announce Changes for `starter version --check`.
func TestChangesAreListed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, id := range regexp.MustCompile(`"(20\d\d-\d\d-\d\d-[a-z0-9-]+)"`).FindAllStringSubmatch(string(body), -1) {
			found = append(found, id[1])
		}
		for _, id := range regexp.MustCompile(`GetVersion\(ctx, ([^v][^,]*),`).FindAllStringSubmatch(string(body), -1) {
			t.Errorf("%s: name the change %s by a constant version…, and list it in Changes", name, id[1])
		}
	}
	slices.Sort(found)
	listed := slices.Sorted(slices.Values(Changes))
	if !slices.Equal(found, listed) {
		t.Errorf("the source has the changes %q, and Changes lists %q", found, listed)
	}
}

package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/local"
)

// Every example's configuration is neither wrong nor dangerous.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../examples/*/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		var out strings.Builder
		c := base.CLI{Out: &out, Err: &out, Getenv: func(string) string { return "" }, Full: local.Full()}
		if code := run(t.Context(), []string{"validate", "--strict", filepath.Dir(file)}, c); code != 0 {
			t.Errorf("%s: exit code %d\n%s", file, code, &out)
		}
	}
}

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Every example's configuration is one that is neither wrong nor dangerous.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../examples/*/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		var out strings.Builder
		c := cli{out: &out, err: &out, getenv: func(string) string { return "" }}
		if code := run(t.Context(), []string{"validate", "--strict", filepath.Dir(file)}, c); code != 0 {
			t.Errorf("%s: exit code %d\n%s", file, code, &out)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every example's configuration is neither wrong nor dangerous.
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

// init writes the versions that the examples were tested with (test/e2e).
func TestInitPinsWhatTheExamplesDo(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../examples/kind-scripted/inquest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pins := regexp.MustCompile(`\[-y, ([^ ,]+)`).FindAllStringSubmatch(firstConfig, -1)
	if len(pins) != 2 {
		t.Errorf("init pins %v", pins)
	}
	for _, pin := range pins {
		if !strings.Contains(string(example), pin[1]) {
			t.Errorf("the example has another version than %s", pin[1])
		}
	}
}

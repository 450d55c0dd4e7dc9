package app

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The linker's output and the length of the program distinguish builds.
func TestNameOfBuild(t *testing.T) {
	t.Parallel()
	program := bytes.Repeat([]byte("x"), 3*linkedHead)
	relinked := bytes.Clone(program)
	relinked[4000] = 'y'
	names := map[string]string{}
	for what, content := range map[string][]byte{"first": program, "copy": program, "relinked": relinked, "longer": append(program, 'x')} {
		path := filepath.Join(t.TempDir(), what)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		name, err := nameOfBuild(path)
		if err != nil {
			t.Fatal(err)
		}
		names[what] = name
	}
	if names["copy"] != names["first"] || names["relinked"] == names["first"] || names["longer"] == names["first"] {
		t.Errorf("builds have the names %v", names)
	}
	if _, err := nameOfBuild(filepath.Join(t.TempDir(), "gone")); err == nil {
		t.Error("a program that is not there has a name")
	}
}

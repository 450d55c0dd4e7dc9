// Package goldentest compares the output of tests with golden files.
package goldentest

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "update the golden files")

// Updating reports whether the test runs with -update and writes its golden files.
func Updating() bool { return *update }

// Equal fails the test if its output differs from the golden file. With -update, it first writes
// the output to the file.
func Equal(t testing.TB, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s, which -update writes (-want +got):\n%s", file, diff)
	}
}

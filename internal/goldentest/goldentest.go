// Package goldentest compares what a test has made with the file that holds what it should make.
package goldentest

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the tests make into the golden files")

// Updating: the test runs with -update, and writes its files.
func Updating() bool { return *update }

// Equal fails a test that has made something other than the file holds, or writes the file if
// the test runs with -update.
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

package processtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// EnvPrograms names the folder of the programs that `make programs` has built.
const EnvPrograms = "INQUEST_TEST_PROGRAMS"

// Program returns the path of a program that `make programs` has built. Without make, it builds the program: args are the arguments
// of go build, with the package last.
func Program(t testing.TB, name string, args ...string) string {
	t.Helper()
	if built := os.Getenv(EnvPrograms); built != "" {
		return filepath.Join(built, name)
	}
	path := filepath.Join(t.TempDir(), name)
	args = slices.Insert(slices.Concat([]string{"build"}, args), len(args), "-o", path)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

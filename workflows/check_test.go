package workflows

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestWorkflowCheck looks for nondeterminism: time, random numbers, iteration over maps,
// goroutines. The tool has a separate go.mod, so that it does not affect our
// versions.
func TestWorkflowCheck(t *testing.T) {
	t.Parallel()
	tool := filepath.Join(t.TempDir(), "workflowcheck")
	build := exec.Command("go", "build", "-C", "../test/tools/workflowcheck", "-o", tool, "go.temporal.io/sdk/contrib/tools/workflowcheck")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build workflowcheck: %v\n%s", err, out)
	}
	if out, err := exec.Command(tool, "-config", "workflowcheck.yaml", ".").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

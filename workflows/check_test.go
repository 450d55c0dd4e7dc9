package workflows

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestWorkflowCheck looks for what a replay would do differently: time, random
// numbers, maps in their own order, goroutines. The tool has a go.mod of its own,
// so that it does not choose our versions.
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

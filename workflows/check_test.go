package workflows

import (
	"os/exec"
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/processtest"
)

// TestWorkflowCheck looks for nondeterminism: time, random numbers, iteration over maps,
// goroutines. The tool has a separate go.mod, so that it does not affect our
// versions.
func TestWorkflowCheck(t *testing.T) {
	t.Parallel()
	tool := processtest.Program(t, "workflowcheck", "-C", "../test/tools/workflowcheck", "go.temporal.io/sdk/contrib/tools/workflowcheck")
	if out, err := exec.Command(tool, "-config", "workflowcheck.yaml", ".").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

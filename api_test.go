package inquest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/goldentest"
)

// TestPublicAPI compares the public packages with their recorded documentation. Use -update to accept a change.
func TestPublicAPI(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"inquest": ".", "inquesttest": "./inquesttest", "config": "./config", "value": "./value"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := exec.CommandContext(t.Context(), "go", "doc", "-all", path).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, got)
			}
			golden := filepath.Join("testdata", "api", name+".txt")
			goldentest.Equal(t, golden, string(got))
		})
	}
}

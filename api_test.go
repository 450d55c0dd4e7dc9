package inquest

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what go doc says of the public packages into testdata")

// The public packages are what go doc says of them: who changes that, says so with -update.
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
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the API has changed (-want +got):\n%s", diff)
			}
		})
	}
}

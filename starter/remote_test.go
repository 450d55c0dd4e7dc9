package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/kit/processtest"
)

// maxRemote is the largest size of the build for the HTTP API alone, in bytes. With schedules and post-mortems, it has 30,081,289. A
// database or a server that is linked by mistake takes millions.
const maxRemote = 31_000_000

// The build for the HTTP API alone links no models, databases or servers, and names the full build where it is needed.
func TestRemoteBuild(t *testing.T) {
	t.Parallel()
	deps, err := exec.Command("go", "list", "-deps", "-tags", "remote", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{
		"modernc.org/sqlite", "github.com/jackc/pgx", "github.com/danielgtaylor/huma", "github.com/anthropics/anthropic-sdk-go",
		"google.golang.org/genai", "github.com/google/generative-ai-go", "github.com/sashabaranov/go-openai", "go.temporal.io/server",
		"github.com/inquest-dev/inquest/internal/face/page", "github.com/inquest-dev/inquest/internal/store",
	} {
		if linked := slices.IndexFunc(strings.Fields(string(deps)), func(pkg string) bool {
			return pkg == module || strings.HasPrefix(pkg, module+"/")
		}); linked >= 0 {
			t.Errorf("it links %s", module)
		}
	}
	program := processtest.Program(t, "starter-remote", "-tags", "remote", "-ldflags", "-s -w", ".")
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() > maxRemote {
		t.Errorf("it has %d bytes, more than %d", info.Size(), maxRemote)
	}
	if said, err := exec.Command(program, "chain", "list").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

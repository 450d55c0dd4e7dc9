package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shBlock is a block of commands in the README.
var shBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestReadme runs every command of the README, as a newcomer would: in order, in
// the repository, with an empty home. Only the one that runs this test is left out.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, ".cache"))
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // what was built and fetched may stay
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	commands := 0
	for _, block := range shBlock.FindAllStringSubmatch(string(readme), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(line)
			switch line {
			case "", "go test ./...":
				continue
			case "go run ./dev":
				background(t, env, "Inquest is up", line)
			default:
				ctx, cancel := context.WithTimeout(t.Context(), 10*patience) // it may have to compile the server
				defer cancel()
				cmd := exec.CommandContext(ctx, "sh", "-c", line)
				cmd.Dir, cmd.Env, cmd.WaitDelay = "../..", env, patience
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("$ %s\n%s%v", line, out, err)
				}
			}
			commands++
		}
	}
	if commands < 6 {
		t.Errorf("the README has %d commands that can be run: does this test still find them?", commands)
	}
}

// background runs a command until the end of the test, once it is ready.
func background(t *testing.T, env []string, ready, line string) {
	t.Helper()
	w := &world{t: t, env: env, data: "../.."}
	w.start(ready, "sh", "-c", "exec "+line)
}

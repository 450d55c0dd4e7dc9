package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// shBlock is a block of commands in the README.
var shBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestReadme runs the commands of the README, as a newcomer would: in order, in the
// repository, with an empty home. Only the one that runs this test is left out, and the
// benchmark, which takes both cores for a minute.
func TestReadme(t *testing.T) {
	t.Parallel()
	if n := runReadme(t, func(line string) bool { return !strings.Contains(line, "./test/bench") }); n < 6 {
		t.Errorf("the README has %d commands that can be run: does this test still find them?", n)
	}
}

// TestLongReadme runs the README's benchmark.
func TestLongReadme(t *testing.T) {
	takesLong(t)
	t.Parallel()
	if n := runReadme(t, func(line string) bool { return strings.Contains(line, "./test/bench") }); n != 1 {
		t.Errorf("the README has %d commands that run the benchmark", n)
	}
}

func runReadme(t *testing.T, chosen func(line string) bool) (commands int) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	w := &world{t: t, data: "../..", env: append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, ".cache"))}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // what was built and fetched may stay
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		w.env = append(w.env, name+"="+strings.TrimSpace(string(value)))
	}
	for _, block := range shBlock.FindAllStringSubmatch(string(readme), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(line)
			if line == "" || line == "go test ./..." || !chosen(line) {
				continue
			}
			commands++
			if line == "go run ./dev" {
				w.start("Inquest is up", "sh", "-c", "exec "+line)
				continue
			}
			p := w.start("", "sh", "-c", line)
			select {
			case <-p.done:
			case <-time.After(10 * patience): // it may have to compile the server
				p.kill()
			}
			if code := p.cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("$ %s\n%sexit code %d", line, p.log, code)
			}
		}
	}
	return commands
}

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

// guides are patterns for the paths of the documents whose commands run, in this order, next to the dev that
// the README starts.
var guides = []string{"README.md", "docs/tutorial.md", "docs/how-to/*.md", "docs/reference/*.md", "docs/explanation/*.md"}

// shBlock is a block of commands in them.
var shBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestReadme runs the commands of the README and of the guides, as a newcomer would: in order, in the
// repository, with an empty home. Only the benchmark is left out, which takes both cores for a minute.
func TestReadme(t *testing.T) {
	t.Parallel()
	elsewhere := func(line string) bool { // this test is part of `make test`
		return strings.Contains(line, "./test/bench") || line == "make test"
	}
	if n := runGuides(t, func(line string) bool { return !elsewhere(line) }); n < 30 {
		t.Errorf("the guides have %d commands that can be run: does this test still find them?", n)
	}
}

// TestLongReadme runs the guides' benchmark.
func TestLongReadme(t *testing.T) {
	takesLong(t)
	t.Parallel()
	if n := runGuides(t, func(line string) bool { return strings.Contains(line, "./test/bench") }); n != 1 {
		t.Errorf("the guides have %d commands that run the benchmark", n)
	}
}

// guided is a world in which the commands of guides run.
type guided struct {
	*world
	ran map[string]bool // the programs that `go run` has run
}

// built replaces `go run` by the program that TestMain built from the same code, if `go run` has already run it
// once: each time, it needs a second to detect that nothing has changed.
func (w *guided) built(line string) string {
	name, args, _ := strings.Cut(strings.TrimPrefix(line, "go run ./"), " ")
	if !strings.HasPrefix(line, "go run ./") || !w.ran[name] {
		w.ran[name] = true
		return line
	}
	return filepath.Join(bin, name) + " " + args
}

func runGuides(t *testing.T, chosen func(line string) bool) (commands int) {
	t.Helper()
	var text strings.Builder
	for _, guide := range guides {
		pages, err := filepath.Glob("../../" + guide)
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %d documents, %v", guide, len(pages), err)
		}
		for _, page := range pages {
			if filepath.Base(page) == "webhooks.md" { // its command needs its own configuration: a test of internal/face/api runs it
				continue
			}
			commands, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(commands)
		}
	}
	home := t.TempDir()
	w := &guided{ran: map[string]bool{}}
	w.world = &world{t: t, data: "../..", env: append(os.Environ(),
		"HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, ".cache"), "XDG_STATE_HOME="+filepath.Join(home, ".local", "state"))}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // caches of builds and modules may stay
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		w.env = append(w.env, name+"="+strings.TrimSpace(string(value)))
	}
	for _, block := range shBlock.FindAllStringSubmatch(text.String(), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(line)
			if line == "" || !chosen(line) {
				continue
			}
			commands++
			command := w.built(line)
			if line == "go run ./dev" {
				w.start("Inquest is running", "sh", "-c", "exec "+command)
				continue
			}
			p := w.start("", "sh", "-c", command)
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

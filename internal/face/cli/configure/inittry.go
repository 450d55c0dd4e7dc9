package configure

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
)

// try runs one investigation of the first alert in its own system, started with the dev program.
func (b beginning) try(ctx context.Context, c *base.CLI) error {
	if key := b.KeyVariable(); key != "" && c.Getenv(key) == "" {
		return base.Usagef("%s is not set: set it to your key for %s, then run: %s", key, b.Type(), b.trial())
	}
	program := devProgram()
	path, err := exec.LookPath(program[0])
	if err != nil {
		return fmt.Errorf("--try needs the program dev next to starter: run go install github.com/inquest-dev/inquest/dev@VERSION, then: %s",
			b.trial())
	}
	cmd := exec.CommandContext(ctx, path, append(program[1:], b.trialArgs()...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.In, c.Out, c.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}

func (b beginning) trialArgs() []string {
	return []string{"demo", "--config", b.Dir, "--alert-type", "alert", "--alert", "@" + b.alert()}
}

// trial returns the command that --try runs.
func (b beginning) trial() string {
	return commandLine(append(devProgram(), b.trialArgs()...))
}

// starterProgram returns the command for this program.
func starterProgram() []string {
	path, err := os.Executable()
	if err == nil && strings.Contains(path, "go-build") {
		return []string{"go", "run", "./starter"}
	}
	if _, absent := exec.LookPath("starter"); err == nil && absent != nil {
		return []string{path}
	}
	return []string{"starter"}
}

// devProgram returns the command for the dev program: the one next to this program, or the one in the checkout under `go run`.
func devProgram() []string {
	path, err := os.Executable()
	if err == nil && strings.Contains(path, "go-build") {
		return []string{"go", "run", "./dev"}
	}
	beside := filepath.Join(filepath.Dir(path), "dev")
	if found, absent := exec.LookPath("dev"); absent == nil && found == beside {
		return []string{"dev"}
	}
	if _, absent := os.Stat(beside); err == nil && absent == nil {
		return []string{beside}
	}
	return []string{"dev"}
}

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// try runs one investigation of the first alert in a system of its own, which the program dev starts.
func (b beginning) try(ctx context.Context, c *cli) error {
	if key := b.KeyVariable(); key != "" && c.getenv(key) == "" {
		return usagef("%s is not set: set it to your key of %s, then: %s", key, b.Type(), b.trial())
	}
	program := devProgram()
	path, err := exec.LookPath(program[0])
	if err != nil {
		return fmt.Errorf("--try needs the program dev beside starter: go install github.com/inquest-dev/inquest/dev@VERSION, then: %s",
			b.trial())
	}
	cmd := exec.CommandContext(ctx, path, append(program[1:], b.trialArgs()...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.in, c.out, c.err
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}

func (b beginning) trialArgs() []string {
	return []string{"demo", "--config", b.Dir, "--alert-type", "alert", "--alert", "@" + b.alert()}
}

// trial is the command that --try runs.
func (b beginning) trial() string {
	return commandLine(append(devProgram(), b.trialArgs()...))
}

// devProgram is how the program dev is called: the one beside this program, or the checkout's if `go run` has started this one.
func devProgram() []string {
	path, err := os.Executable()
	if err == nil && strings.Contains(path, "go-build") {
		return []string{"go", "run", "./dev"}
	}
	if beside := filepath.Join(filepath.Dir(path), "dev"); err == nil {
		if _, err := os.Stat(beside); err == nil {
			return []string{beside}
		}
	}
	return []string{"dev"}
}

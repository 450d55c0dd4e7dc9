package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// server is a private Temporal server: dev without its worker, as a separate process, so that its CPU time and
// memory are measured apart from ours.
type server struct {
	cmd     *exec.Cmd
	address string
}

// patience limits the wait for something that should happen at once.
const patience = time.Minute

func startServer(ctx context.Context, dir string) (*server, error) {
	program := filepath.Join(dir, "dev")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/inquest-dev/inquest/dev")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build dev (run this within the module): %w\n%s", err, out)
	}
	s := &server{cmd: exec.Command(program, "--no-worker", "--listen", "127.0.0.1:0", "--ui", "127.0.0.1:0", "--data", dir)}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start dev: %w", err)
	}
	if s.address, err = readAddress(out); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// readAddress finds Temporal's address in the output of dev.
func readAddress(out io.Reader) (string, error) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == "Temporal" {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return words[1], nil
		}
	}
	return "", errors.New("dev did not come up")
}

// stop asks the server to exit, and kills it if it does not.
func (s *server) stop() error {
	_ = s.cmd.Process.Signal(os.Interrupt)
	defer time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() }).Stop()
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("stop dev: %w", err)
	}
	return nil
}

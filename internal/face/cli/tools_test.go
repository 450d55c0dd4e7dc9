package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/tool/tooltest"
)

// toolserver is a program for the scripts: an MCP server on its standard input and output.
func toolserver() {
	if err := tooltest.Serve(context.Background(), tooltest.Tools); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Ctrl-C ends the call and the session with its server at once.
func TestInterruptCancelsATool(t *testing.T) {
	t.Parallel()
	web, gate, dir := tooltest.ServeWeb(t, tooltest.WebOptions{}), tooltest.NewGate(t), t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	if err := writeFile(path, fmt.Sprintf("mcp_servers: {lab: {transport: {type: http, url: %q}}}", web.URL)); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	var c console
	code := make(chan int)
	go func() {
		code <- c.run(ctx, "tool", "run", "lab.hang", "--args", fmt.Sprintf(`{"gate":%q}`, gate.Path),
			"--config", path, "--store", filepath.Join(dir, "inquest.db"))
	}()
	gate.Wait(t)
	interrupt()
	if got := <-code; got != command.ExitInterrupted {
		t.Errorf("exit code %d, want %d: %s", got, command.ExitInterrupted, &c.err)
	}
	web.Wait("DELETE", 1)
}

package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/command"
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/local"
	"github.com/inquest-dev/inquest/internal/kit/processtest"
	"github.com/inquest-dev/inquest/internal/store"
)

func writeFile(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

// console is a run of the program within the test.
type console struct {
	mu       sync.Mutex
	out, err bytes.Buffer
}

// locked is a writer that is safe for concurrent use.
type locked struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

func (c *console) run(ctx context.Context, args ...string) int {
	return run(ctx, args, base.CLI{
		In: strings.NewReader(""), Out: locked{&c.mu, &c.out}, Err: locked{&c.mu, &c.err}, Getenv: func(string) string { return "" },
		Full: local.Full(),
	})
}

func expect(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s has no %q:\n%s", what, part, text)
		}
	}
}

// The worker's store appears after the start, and the investigation ends in Temporal after it has ended in the store.
func TestRunShowsWhatTheWorkerWrites(t *testing.T) {
	t.Parallel()
	fake, path := newFakeTemporal(t), filepath.Join(t.TempDir(), "inquest.db")
	fake.started = func(workflowID string, _ agent.Request) {
		go func() {
			st, err := store.Open(t.Context(), store.Options{Path: path})
			if err != nil {
				t.Error(err)
				return
			}
			defer st.Close()
			if err := save(t.Context(), st, workflowID, agent.StatusCompleted, agent.EndCompleted, ""); err != nil {
				t.Error(err)
			}
			fake.complete(workflowID)
		}()
	}
	var c console
	code := c.run(t.Context(), "run", "--chain", "unplanned", "--data", "x", "--workflow-id", "w", "--address", fake.address, "--store", path)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, &c.err)
	}
	if got, want := c.err.String(), "investigation w:0123456789ab\n"; got != want {
		t.Errorf("stderr %q, want %q", got, want)
	}
	expect(t, "stdout", c.out.String(), "collect/LogAgent │ The pool is exhausted.", "# Found", "w:0123456789ab · completed")
}

func TestInterruptLeavesTheInvestigationAlone(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"run", "--chain", "long", "--data", "x", "--workflow-id", "w"},
		{"run", "--chain", "long", "--data", "x", "--workflow-id", "w", "--json"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			fake := newFakeTemporal(t)
			ctx, interrupt := context.WithCancel(t.Context())
			fake.awaited = func(string) { interrupt() }
			var c console
			code := c.run(ctx, append(args, "--address", fake.address, "--store", filepath.Join(t.TempDir(), "none"))...)
			if code != command.ExitInterrupted {
				t.Errorf("exit code %d, want %d", code, command.ExitInterrupted)
			}
			expect(t, "stderr", c.err.String(), "starter watch w:0123456789ab", "starter cancel w:0123456789ab")
			if args[len(args)-1] == "--json" && strings.Contains(c.out.String(), "ended") {
				t.Errorf("stdout: %s", &c.out)
			}
			if fake.runs["w"].closing != nil {
				t.Error("the investigation has been ended")
			}
		})
	}
}

// Viewers are told when Temporal stops answering and when it answers again.
func TestLostConnectionIsTold(t *testing.T) {
	t.Parallel()
	address, err := processtest.FreeAddress() // it comes back at this address
	if err != nil {
		t.Fatal(err)
	}
	fake := newFakeTemporalAt(t, address)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var c console
	done := make(chan int)
	go func() {
		done <- c.run(ctx, "run", "--chain", "long", "--data", "x", "--workflow-id", "w", "--address", fake.address,
			"--store", filepath.Join(t.TempDir(), "none"))
	}()
	c.says(t, "investigation w:")
	fake.stop()
	c.says(t, "connection to Temporal lost; retrying since ")
	fake.serve(t)
	c.says(t, "connection to Temporal is restored")
	interrupt()
	if code := <-done; code != command.ExitInterrupted {
		t.Errorf("exit code %d: %s", code, &c.err)
	}
}

// says waits until the program has printed a message.
func (c *console) says(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c.mu.Lock()
		said := c.err.String()
		c.mu.Unlock()
		if strings.Contains(said, text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("never said %q:\n%s", text, said)
		}
	}
}

// The record of a terminated investigation still says "running".
func TestWatchOfATerminatedInvestigationEnds(t *testing.T) {
	t.Parallel()
	fake, path := newFakeTemporal(t), filepath.Join(t.TempDir(), "inquest.db")
	st, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := save(t.Context(), st, "w", agent.StatusRunning, "", ""); err != nil {
		t.Fatal(err)
	}
	var c console
	common := []string{"--address", fake.address, "--store", path}
	if code := c.run(t.Context(), append(common, "run", "--chain", "killed", "--data", "x", "--workflow-id", "w", "--detach")...); code != 0 {
		t.Fatalf("exit code %d: %s", code, &c.err)
	}
	if code := c.run(t.Context(), append(common, "watch", "w")...); code != 1 {
		t.Errorf("exit code %d, want 1: %s", code, &c.err)
	}
	expect(t, "stderr", c.err.String(), "terminated")
	expect(t, "stdout", c.out.String(), "w:0123456789ab · terminated")
}

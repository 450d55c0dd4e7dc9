package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/inquest-dev/inquest/internal/store"
)

const (
	victimEnv  = "INQUEST_TEST_STORE_VICTIM" // path of the store that the process is to write until it is killed
	rowsOfStep = 3
)

func TestMain(m *testing.M) {
	if path := os.Getenv(victimEnv); path != "" {
		fmt.Fprintln(os.Stderr, victim(context.Background(), path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// victim appends steps for ever, and says after each what its first number is.
func victim(ctx context.Context, path string) error {
	s, err := store.Open(ctx, store.Options{Path: path})
	if err != nil {
		return err
	}
	before, err := s.Entries(ctx, scope)
	if err != nil {
		return err
	}
	for i := len(before) / rowsOfStep; ; i++ {
		entries, err := s.Append(ctx, stepAt(i, rowsOfStep))
		if err != nil {
			return err
		}
		fmt.Println(entries[0].Seq)
	}
}

// A process that is killed loses nothing that it was told is written, and leaves no half of a step.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inquest.db")
	watcher := open(t, path)
	for _, enough := range []int{1, 7, 40, 3} {
		acknowledged := killAfter(t, path, enough)

		entries, err := watcher.After(t.Context(), scope.Investigation, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries)%rowsOfStep != 0 || int64(len(entries)) < acknowledged+rowsOfStep-1 {
			t.Errorf("%d rows in steps of %d, and the step at %d was acknowledged", len(entries), rowsOfStep, acknowledged)
		}
		for i, e := range entries {
			if e.Seq != int64(i)+1 || e.Iteration != i/rowsOfStep || e.Position != i%rowsOfStep {
				t.Fatalf("row %d is number %d, %v", i, e.Seq, e.Key)
			}
		}
	}
}

// killAfter starts a victim, kills it while it writes, once it has acknowledged
// so many steps, and returns the last number that it acknowledged.
func killAfter(t *testing.T, path string, steps int) (last int64) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), victimEnv+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ { // what it said until it died
		if last, err = strconv.ParseInt(lines.Text(), 10, 64); err != nil {
			t.Fatal(err)
		}
		if n == steps {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.Exited() {
		t.Fatalf("the victim ended by itself: %v", err)
	}
	return last
}

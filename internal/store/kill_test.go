package store_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
)

const (
	victimEnv  = "INQUEST_TEST_STORE_VICTIM" // the store that the process writes to until it is killed
	rowsOfStep = 3
)

func TestMain(m *testing.M) {
	if target := os.Getenv(auditEnv); target != "" {
		fmt.Fprintln(os.Stderr, auditVictim(context.Background(), target))
		os.Exit(1)
	}
	if target := os.Getenv(victimEnv); target != "" {
		fmt.Fprintln(os.Stderr, victim(context.Background(), target))
		os.Exit(1)
	}
	// Tests spend more time waiting for locks, for PostgreSQL and for its outages than computing.
	_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.NumCPU())) // it is a number
	os.Exit(m.Run())
}

// victim appends steps forever, and prints the first number of each.
func victim(ctx context.Context, target string) error {
	s, err := store.Open(ctx, store.At(target))
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

// Killed processes, single ones or several that write the same steps, lose no acknowledged write and leave no partial step.
func TestKilledWriters(t *testing.T) {
	t.Parallel()
	targets := map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "inquest.db") },
		"postgres": func(t *testing.T) string { return postgrestest.Start(t).Database(t, "killed") },
	}
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKilledWriters(t, target(t))
		})
	}
}

func testKilledWriters(t *testing.T, target string) {
	watcher := open(t, target)
	for _, round := range []struct{ writers, steps int }{{1, 1}, {1, 7}, {3, 20}, {1, 40}, {2, 3}} {
		acknowledged := make([]int64, round.writers)
		var all sync.WaitGroup
		for i := range acknowledged {
			all.Go(func() {
				var err error
				if acknowledged[i], err = killAfter(t.Context(), target, round.steps); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, last := range acknowledged {
			checkWhole(t, watcher, last)
		}
	}
}

// checkWhole checks that the log consists of complete steps, each once and in order, and that it contains the step whose first row
// has the number last.
func checkWhole(t *testing.T, s *store.Store, last int64) {
	t.Helper()
	entries, err := s.After(t.Context(), scope.Investigation, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries)%rowsOfStep != 0 || int64(len(entries)) < last+rowsOfStep-1 {
		t.Errorf("%d rows in steps of %d, and the step at %d was acknowledged", len(entries), rowsOfStep, last)
	}
	for i, e := range entries {
		if e.Seq != int64(i)+1 || e.Iteration != i/rowsOfStep || e.Position != i%rowsOfStep {
			t.Fatalf("row %d is number %d, %v", i, e.Seq, e.Key)
		}
	}
}

// killAfter starts a victim, kills it while it writes, after the given number of acknowledged steps, and returns the last
// acknowledged number.
func killAfter(ctx context.Context, target string, steps int) (last int64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), victimEnv+"="+target)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ { // its output until it died
		if last, err = strconv.ParseInt(lines.Text(), 10, 64); err != nil {
			break
		}
		if n == steps {
			err = cmd.Process.Kill()
		}
	}
	if end := cmd.Wait(); err == nil && cmd.ProcessState.Exited() {
		err = fmt.Errorf("the victim ended by itself: %w", end)
	}
	return last, err
}

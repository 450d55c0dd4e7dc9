package store_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/storetest"
	"github.com/inquest-dev/inquest/internal/transcript"
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	storetest.Run(t, func(t *testing.T) storetest.Store {
		return open(t, filepath.Join(folder, strings.ReplaceAll(t.Name(), "/", " "), "inquest.db"))
	})
}

func TestSQLiteSnapshot(t *testing.T) {
	t.Parallel()
	testSnapshot(t, filepath.Join(t.TempDir(), "inquest.db"))
}

// One read sees one state of the database, whatever is written meanwhile.
func testSnapshot(t *testing.T, target string) {
	s, writer := open(t, target), open(t, target)
	write := func(iteration int) {
		if _, err := writer.Append(t.Context(), stepAt(iteration, 1)); err != nil {
			t.Error(err)
		}
	}
	write(1)
	first, second, err := s.ReadTwice(t.Context(), scope.Investigation, func() { write(2) })
	if err != nil || first != 1 || second != 1 {
		t.Errorf("the last entry is %d and then %d, error %v", first, second, err)
	}
}

// open opens the store that is named by a path or an address.
func open(t testing.TB, target string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.At(target))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var scope = transcript.Scope{Investigation: "inv/run", Execution: "triage/analyst"}

// stepAt is a step of n rows at an iteration.
func stepAt(iteration, n int) transcript.Step {
	step := transcript.Step{Scope: scope, Writer: transcript.Writer{RunID: "run", ActivityID: "activity"}}
	for i := range n {
		step.Rows = append(step.Rows, transcript.Row{
			Key:  transcript.Key{Iteration: iteration, Position: i},
			Kind: transcript.KindUser,
			Body: transcript.Body{Text: strings.Repeat("what was said ", 100)},
		})
	}
	return step
}

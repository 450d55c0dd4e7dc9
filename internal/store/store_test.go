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

func open(t testing.TB, path string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: path})
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

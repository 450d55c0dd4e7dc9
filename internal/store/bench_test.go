package store_test

import (
	"path/filepath"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

const logSize = 1000 // rows that are there already

func benchStore(b *testing.B) *store.Store {
	s := open(b, filepath.Join(b.TempDir(), "inquest.db"))
	for i := range logSize / 2 {
		if _, err := s.Append(b.Context(), stepAt(i, 2)); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkStep is what a model call costs in the store, without its prompt.
func BenchmarkStep(b *testing.B) {
	s, n := benchStore(b), logSize
	for b.Loop() {
		n++
		step := stepAt(n, 2)
		step.Rows[1].Kind, step.Rows[1].Usage = transcript.KindReply, &agent.Usage{ModelCalls: 1}
		if _, err := s.Lookup(b.Context(), scope, step.Rows[0].Key, step.Writer); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Append(b.Context(), step); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	s, step := benchStore(b), stepAt(logSize/4, 2)
	for b.Loop() {
		found, err := s.Lookup(b.Context(), scope, step.Rows[0].Key, step.Writer)
		if err != nil || len(found) != 2 {
			b.Fatal(len(found), err)
		}
	}
}

func BenchmarkEntries(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		if _, err := s.Entries(b.Context(), scope); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSetLive(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		if err := s.SetLive(b.Context(), transcript.Live{Scope: scope, Iteration: logSize, Attempt: 1, Text: "so far"}); err != nil {
			b.Fatal(err)
		}
	}
}

package store_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/store/postgrestest"
	"github.com/inquest-dev/inquest/internal/transcript"
	"github.com/inquest-dev/inquest/internal/trust/audit"
)

const logSize = 1000 // existing rows

// onEach runs a benchmark on both databases, with an existing log.
func onEach(b *testing.B, bench func(b *testing.B, s *store.Store)) {
	targets := map[string]func(b *testing.B) string{
		"sqlite":   func(b *testing.B) string { return filepath.Join(b.TempDir(), "inquest.db") },
		"postgres": func(b *testing.B) string { return postgrestest.Start(b, "fsync=on").Database(b, "bench") },
	}
	for name, target := range targets {
		b.Run(name, func(b *testing.B) {
			s := open(b, target(b))
			for i := range logSize / 2 {
				if _, err := s.Append(b.Context(), stepAt(i, 2)); err != nil {
					b.Fatal(err)
				}
			}
			bench(b, s)
		})
	}
}

// reply is the step that a model call appends.
func reply(n int) transcript.Step {
	step := stepAt(n, 2)
	step.Rows[1].Kind, step.Rows[1].Usage = transcript.KindReply, &agent.Usage{ModelCalls: 1}
	return step
}

// BenchmarkStep measures the cost of a model call in the store, without its prompt.
func BenchmarkStep(b *testing.B) {
	onEach(b, func(b *testing.B, s *store.Store) {
		for n := logSize; b.Loop(); n++ {
			step := reply(n)
			if _, err := s.Lookup(b.Context(), scope, step.Rows[0].Key, step.Writer); err != nil {
				b.Fatal(err)
			}
			if _, err := s.Append(b.Context(), step); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFleet runs steps of 32 concurrent investigations.
func BenchmarkFleet(b *testing.B) {
	onEach(b, func(b *testing.B, s *store.Store) {
		var investigations atomic.Int64
		b.SetParallelism(16) // times two processors
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			id := fmt.Sprintf("inv-%d", investigations.Add(1))
			for n := 0; pb.Next(); n++ {
				step := reply(n)
				step.Investigation = id
				if _, err := s.Append(b.Context(), step); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

func BenchmarkLookup(b *testing.B) {
	onEach(b, func(b *testing.B, s *store.Store) {
		step := stepAt(logSize/4, 2)
		for b.Loop() {
			found, err := s.Lookup(b.Context(), scope, step.Rows[0].Key, step.Writer)
			if err != nil || len(found) != 2 {
				b.Fatal(len(found), err)
			}
		}
	})
}

// BenchmarkLookupCall measures the reads before a tool call.
func BenchmarkLookupCall(b *testing.B) {
	onEach(b, func(b *testing.B, s *store.Store) {
		w := stepAt(0, 1).Writer
		if _, err := s.Append(b.Context(), reply(logSize)); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			found, err := s.LookupCall(b.Context(), scope, logSize, 0, w)
			if err != nil || len(found.Log) != 1 {
				b.Fatal(len(found.Log), err)
			}
		}
	})
}

func BenchmarkEntries(b *testing.B) {
	onEach(b, func(b *testing.B, s *store.Store) {
		for b.Loop() {
			if _, err := s.Entries(b.Context(), scope); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSetLive(b *testing.B) {
	onEach(b, func(b *testing.B, s *store.Store) {
		for b.Loop() {
			if err := s.SetLive(b.Context(), transcript.Live{Scope: scope, Iteration: logSize, Attempt: 1, Text: "so far"}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkAudit runs steps of 32 concurrent investigations, each with an act. BenchmarkFleet has no acts.
func BenchmarkAudit(b *testing.B) {
	onEach(b, func(b *testing.B, s *store.Store) {
		var investigations atomic.Int64
		b.SetParallelism(16)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			id := fmt.Sprintf("inv-%d", investigations.Add(1))
			for n := 0; pb.Next(); n++ {
				step := reply(n)
				step.Investigation = id
				step.Rows[1].Acts = []audit.Act{{What: audit.Decided, Who: "Ada", Detail: audit.Detail("digest", "d")}}
				if _, err := s.Append(b.Context(), step); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/knowledge/memory"
	"github.com/inquest-dev/inquest/internal/store"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// text generates texts with the word frequencies of a language, by Zipf's law.
type text struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newText(seed uint64) text {
	random := rand.New(rand.NewPCG(seed, 0))
	return text{random, rand.NewZipf(random, 1.1, 3, 20_000)}
}

func (t text) words(n int) string {
	var words []string
	for range n {
		words = append(words, fmt.Sprintf("word%d", t.zipf.Uint64()))
	}
	return strings.Join(words, " ")
}

// query returns words that are not in every other text.
func (t text) query() string {
	return fmt.Sprintf("word%d word%d word%d", 50+t.random.IntN(500), 500+t.random.IntN(5000), 500+t.random.IntN(5000))
}

// full is a store with archival memories of two agents, about as full as allowed.
func full(b *testing.B) *store.Store {
	b.Helper()
	s, words := open(b, filepath.Join(b.TempDir(), "inquest.db")), newText(1)
	for _, by := range []string{"bot", "other"} {
		snapshot := memory.Snapshot{Format: memory.Format, Agent: by}
		for id := range int64(memory.MaxArchival) {
			snapshot.Archival = append(snapshot.Archival, memory.Entry{ID: id + 1, Content: words.words(30), At: time.Now()})
		}
		if by == "bot" {
			snapshot.Archival = snapshot.Archival[memory.MaxArchival/20:] // leaves room for the inserts below
		}
		if err := s.ImportMemory(b.Context(), by, snapshot, false); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// median runs fn b.N times and reports the median duration.
func median(b *testing.B, fn func()) {
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		fn()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms/p99")
}

// BenchmarkArchival uses about 100,000 entries, and as many of another agent. An insert is a complete journaled call.
func BenchmarkArchival(b *testing.B) {
	s, words := full(b), newText(2)
	iteration := 0
	b.Run("insert", func(b *testing.B) {
		median(b, func() {
			iteration++
			arguments := fmt.Sprintf(`{"content":%q}`, words.words(30))
			result := journaled(b, s, batchAt("inv", iteration, 1), []memoryCall{{agent.ToolArchivalMemoryInsert, arguments}})
			if !strings.HasPrefix(result[0].Text, "Successfully") {
				b.Fatal(result[0].Text)
			}
		})
	})
	search := func(query func() string) func(*testing.B) {
		return func(b *testing.B) {
			median(b, func() {
				err := s.Remember(b.Context(), "bot", func(tx memory.Tx) error {
					_, err := tx.SearchArchival(b.Context(), query(), 0)
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	}
	b.Run("search", search(words.query))
	b.Run("search for what most have", search(func() string { return "word0 word1 word2" }))
}

// memoryCall is a call to a memory tool.
type memoryCall struct{ name, arguments string }

func batchAt(investigation string, iteration, calls int) memory.Batch {
	batch := memory.Batch{Agent: "bot", Writer: transcript.Writer{RunID: "run", ActivityID: "1"}}
	batch.Scope = transcript.Scope{Investigation: investigation, Execution: scope.Execution}
	for n := range calls {
		batch.Keys = append(batch.Keys, transcript.ResultKey(iteration, n))
	}
	return batch
}

func journaled(b *testing.B, s *store.Store, batch memory.Batch, calls []memoryCall) []transcript.Entry {
	entries, err := s.Journal(b.Context(), batch, func(tx memory.Tx, n int) (transcript.Body, error) {
		return performed(b.Context(), tx, calls[n])
	})
	if err != nil {
		b.Error(err)
	}
	return entries
}

func performed(ctx context.Context, tx memory.Tx, call memoryCall) (transcript.Body, error) {
	result, err := memory.Call(ctx, tx, call.name, call.arguments)
	return transcript.Body{Text: result.Content, Status: string(result.Status), ErrorType: result.ErrorType}, err
}

// someCalls returns the calls of a reply: in every three, an append, its replacement, and an archival entry, and at the end a
// search of each kind.
func someCalls(n int) (calls []memoryCall) {
	for i := range n - 2 {
		calls = append(calls, []memoryCall{
			{agent.ToolCoreMemoryAppend, `{"label":"scratch","content":"the pool of payments has twenty connections"}`},
			{agent.ToolCoreMemoryReplace, `{"label":"scratch","old_content":"the pool of payments has twenty connections","new_content":""}`},
			{agent.ToolArchivalMemoryInsert, `{"content":"The pool of payments was exhausted because a retry leaked its connections."}`},
		}[i%3])
	}
	return append(calls, memoryCall{agent.ToolArchivalMemorySearch, `{"query":"redis eviction"}`},
		memoryCall{agent.ToolConversationSearch, `{"query":"redis eviction"}`})
}

// BenchmarkMemoryCalls runs 50 concurrent executions with replies of 20 calls each, with one transaction per reply and, for
// comparison, one per call.
func BenchmarkMemoryCalls(b *testing.B) {
	const executions, calls = 50, 20
	for name, together := range map[string]bool{"a reply at once": true, "call by call": false} {
		b.Run(name, func(b *testing.B) {
			s, wanted := open(b, filepath.Join(b.TempDir(), "inquest.db")), someCalls(calls)
			iteration := 0
			for b.Loop() {
				iteration++
				var all sync.WaitGroup
				for n := range executions {
					all.Go(func() {
						batch := batchAt(fmt.Sprintf("inv-%d", n), iteration, calls)
						batch.Agent = fmt.Sprintf("bot-%d", n%10)
						if together {
							journaled(b, s, batch, wanted)
							return
						}
						for i, key := range batch.Keys {
							single := batch
							single.Keys = []transcript.Key{key}
							journaled(b, s, single, wanted[i:])
						}
					})
				}
				all.Wait()
			}
			b.ReportMetric(float64(b.N*executions*calls)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

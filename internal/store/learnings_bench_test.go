package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/knowledge/learning"
	"github.com/inquest-dev/inquest/internal/store"
)

// benchLearnings is the number of learnings in BenchmarkLearnings.
const benchLearnings = 50_000

// BenchmarkLearnings finds the five best learnings of a project for an alert of 60 words, among 50,000 with the word frequencies of a
// language and with embeddings of 768, then of 1,536 numbers.
func BenchmarkLearnings(b *testing.B) {
	onEach(b, func(b *testing.B, s *store.Store) {
		words, ctx, began, l := newText(9), b.Context(), time.Now(), s
		for n := 0; n < benchLearnings; n += 50 {
			taught := learning.Taught{Investigation: fmt.Sprint("i", n), At: time.Now()}
			for range 50 {
				taught.New = append(taught.New, learning.Learning{Text: words.words(40), Confidence: learning.Initial, Chain: "kubernetes"})
			}
			if _, err := l.Learn(ctx, "", taught); err != nil {
				b.Fatal(err)
			}
		}
		b.Logf("written in %s", time.Since(began).Round(time.Second))
		find := func(b *testing.B, vector learning.Vector) {
			median(b, func() {
				found, err := l.FindLearnings(ctx, learning.Query{Text: words.words(60), Vector: vector, Limit: 5})
				if err != nil || len(found) != 5 {
					b.Fatalf("%d learnings, %v", len(found), err)
				}
			})
		}
		b.Run("by words", func(b *testing.B) { find(b, learning.Vector{}) })
		for _, size := range []int{768, 1536} {
			embedAll(b, s, size)
			b.Run(fmt.Sprint("by words and meaning, ", size, " numbers"), func(b *testing.B) { find(b, vectorOf(7, size)) })
		}
	})
}

// embedAll gives all learnings of the default project vectors of some size.
func embedAll(b *testing.B, s *store.Store, size int) {
	for began := time.Now(); ; {
		some, err := s.Unembedded(b.Context(), "", vectorOf(0, size).Model, 1000)
		if err != nil {
			b.Fatal(err)
		}
		if len(some) == 0 {
			b.Logf("%d numbers each: written in %s", size, time.Since(began).Round(time.Second))
			return
		}
		var vectors []learning.Candidate
		for _, one := range some {
			vectors = append(vectors, learning.Candidate{Learning: one, Vector: vectorOf(uint64(one.ID), size)})
		}
		if err := s.SetVectors(b.Context(), "", vectors); err != nil {
			b.Fatal(err)
		}
	}
}

// vectorOf returns a random vector with a bias, as embeddings have, so large that all vectors are near to each other.
func vectorOf(seed uint64, size int) learning.Vector {
	random := rand.New(rand.NewPCG(seed, 0))
	values := make([]float32, size)
	for n := range values {
		values[n] = float32(random.NormFloat64()) + 1.3
	}
	return learning.Vector{Model: fmt.Sprint("m", size), Values: values}
}

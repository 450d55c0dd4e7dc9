package learning_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/inquest-dev/inquest/internal/knowledge/learning"
)

// TestEstimator checks that most of the ten vectors nearest to a query are among the 200 with the nearest codes, for vectors that
// cluster, share a direction, and have numbers of different sizes, as embeddings do.
func TestEstimator(t *testing.T) {
	t.Parallel()
	const size, clusters, all, queries = 1536, 20, 10_000, 10
	random := rand.New(rand.NewPCG(3, 4))
	scale, shared := make([]float64, size), make([]float64, size)
	for n := range size {
		scale[n], shared[n] = 1/(1+float64(n)/100), random.NormFloat64()/2
	}
	near := func(to []float64, spread float64) (out []float64) {
		for n := range size {
			out = append(out, to[n]+spread*scale[n]*random.NormFloat64())
		}
		return out
	}
	vector := func(of []float64) (v learning.Vector) {
		for _, x := range of {
			v.Values = append(v.Values, float32(x))
		}
		return v
	}
	var centres [][]float64
	for range clusters {
		centres = append(centres, near(shared, 1))
	}
	var vectors []learning.Vector
	var codes [][]byte
	for n := range all {
		v := vector(near(centres[n%clusters], 0.7))
		vectors, codes = append(vectors, v), append(codes, learning.Code(v.Values))
	}
	found := 0
	for q := range queries {
		query := vector(near(centres[q], 0.7))
		estimate := learning.NewEstimator(query.Values)
		byCosine := best(all, 10, func(n int) float64 { return learning.Cosine(query, vectors[n]) })
		byCode := best(all, 200, func(n int) float64 { return float64(estimate.Nearness(codes[n])) })
		for _, n := range byCosine {
			if slices.Contains(byCode, n) {
				found++
			}
		}
	}
	recall := float64(found) / (10 * queries)
	t.Logf("recall %.3f", recall)
	if recall < 0.85 {
		t.Error("too many of the nearest vectors are missed")
	}
}

// best returns the numbers below all with the highest scores.
func best(all, limit int, score func(n int) float64) []int {
	order, scores := make([]int, all), make([]float64, all)
	for n := range all {
		order[n], scores[n] = n, score(n)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order[:limit]
}

// TestNearness checks vectors of sizes that do and do not fill their codes: no vector is nearer than the query itself, and its opposite is
// the farthest.
func TestNearness(t *testing.T) {
	t.Parallel()
	const rounding = 0.5 // a number near zero may be rounded to the other sign
	random := rand.New(rand.NewPCG(5, 6))
	for _, size := range []int{1, 63, 64, 65, 100, 384, 3072} {
		query, opposite := make([]float32, size), make([]float32, size)
		for n := range query {
			query[n] = float32(random.NormFloat64())
			opposite[n] = -query[n]
		}
		e, code := learning.NewEstimator(query), learning.Code(query)
		self, other := e.Nearness(code), e.Nearness(learning.Code(opposite))
		if e.Size() != len(code) || self < other {
			t.Errorf("size %d: %v for itself, %v for its opposite", size, self, other)
		}
		for range 10 {
			for n := range opposite {
				opposite[n] = float32(random.NormFloat64())
			}
			if got := e.Nearness(learning.Code(opposite)); got > self+rounding || got < other-rounding {
				t.Errorf("size %d: %v for another vector, %v for itself, %v for its opposite", size, got, self, other)
			}
		}
	}
}

// BenchmarkNearest looks for the nearest among 50,000 codes.
func BenchmarkNearest(b *testing.B) {
	for _, size := range []int{768, 1536} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			random := rand.New(rand.NewPCG(7, 8))
			var blocks []learning.Block
			query := make([]float32, size)
			for n := range query {
				query[n] = float32(random.NormFloat64())
			}
			for range 50_000/learning.BlockSize + 1 {
				block := learning.NewBlock(learning.NewEstimator(query).Size())
				for n := range block {
					block[n] = byte(random.Uint32())
				}
				for n := range int64(learning.BlockSize) {
					block.Set(n, nil)
				}
				blocks = append(blocks, block)
			}
			for b.Loop() {
				found := learning.NewNearest(query, 200)
				for n, block := range blocks {
					found.Add(int64(n)*learning.BlockSize, block)
				}
			}
		})
	}
}

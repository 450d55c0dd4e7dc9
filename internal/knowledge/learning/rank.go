package learning

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/inquest-dev/inquest/internal/knowledge/memory"
)

// Query asks for the learnings of a project that fit a text.
type Query struct {
	Project, Text    string
	Chain, AlertType string // learnings with the same values rank a little higher
	Vector           Vector // of the text; the zero value means that only words are compared
	Limit            int
	Except           []int64 // learnings that are known already
	Now              time.Time
}

// Vector is the embedding of a text. Only vectors of the same model can be compared.
type Vector struct {
	Model  string
	Values []float32
}

// Cosine returns the cosine of the angle between two vectors, or 0 if they cannot be compared.
func Cosine(a, b Vector) float64 {
	if a.Model != b.Model || len(a.Values) != len(b.Values) {
		return 0
	}
	var dot, aa, bb float64
	for n, x := range a.Values {
		x, y := float64(x), float64(b.Values[n])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

// MaxWords is how many words of a query are searched for, the rarest first.
const MaxWords = 32

// maxHits is how many learnings the words of a query may have together. More frequent words say little, and ranking their
// learnings takes long.
const maxHits = 1000

// Words returns the distinct words of a query that can be searched for.
func Words(text string) []string { return memory.Distinct(text, 400) }

// Rarest returns the words to search for, rarest first. counts says how many learnings have each word.
func Rarest(words []string, counts map[string]int) []string {
	var known []string
	for _, word := range words {
		if counts[word] > 0 {
			known = append(known, word)
		}
	}
	slices.SortStableFunc(known, func(a, b string) int { return cmp.Compare(counts[a], counts[b]) })
	hits := 0
	for n, word := range known {
		if hits += counts[word]; n > 0 && hits > maxHits || n == MaxWords {
			return known[:n]
		}
	}
	return known
}

// Candidate is a learning that may fit a query.
type Candidate struct {
	Learning
	Vector Vector
}

// Scored is a learning with the score that ranks it, and its current confidence.
type Scored struct {
	Learning
	Score, Current float64
}

// How much each part counts. A learning that shares no word with the query must be at least near to it in meaning.
const (
	near           = 0.45
	sameAlertType  = 1.15
	sameChain      = 1.05
	leastConfident = 0.3 // weight of a learning without any confidence
)

// Rank returns the best learnings for a query, best first. counts says how many learnings have each of the words that were
// searched for.
func Rank(all []Candidate, q Query, counts map[string]int) []Scored {
	words, best := make([]float64, len(all)), 0.0
	for n, c := range all {
		words[n] = overlap(c.Text, counts)
		best = max(best, words[n])
	}
	var found []Scored
	for n, c := range all {
		score := 0.0
		if best > 0 {
			score = words[n] / best
		}
		if meaning := Cosine(c.Vector, q.Vector); len(q.Vector.Values) > 0 {
			if meaning < near {
				meaning = 0
			}
			score = (score + meaning) / 2
		}
		s := Scored{Learning: c.Learning, Current: Current(c.Learning, q.Now)}
		if c.Withdrawn != nil || c.Project != q.Project || score == 0 || s.Current < Forgotten || slices.Contains(q.Except, c.ID) {
			continue
		}
		s.Score = score * (leastConfident + (1-leastConfident)*s.Current)
		if q.AlertType != "" && c.AlertType == q.AlertType {
			s.Score *= sameAlertType
		}
		if q.Chain != "" && c.Chain == q.Chain {
			s.Score *= sameChain
		}
		found = append(found, s)
	}
	slices.SortFunc(found, func(a, b Scored) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.ID, a.ID)) })
	return found[:min(len(found), max(q.Limit, 0))]
}

// overlap sums the weights of the words that a text shares with a query. A word counts more the rarer it is.
func overlap(text string, counts map[string]int) (sum float64) {
	for _, word := range memory.Distinct(text, len(text)) {
		if n := counts[word]; n > 0 {
			sum += 1 / math.Log2(1+float64(n))
		}
	}
	return sum
}

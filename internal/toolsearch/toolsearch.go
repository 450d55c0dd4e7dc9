// Package toolsearch ranks tools by how well their name, description and parameters match a query.
//
// The ranking is Okapi BM25 over three fields with weights. It depends only on the tools and the query: equal input gives equal
// output on every machine.
package toolsearch

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/inquest-dev/inquest/internal/knowledge/memory"
)

// Tool is a tool that can be found.
type Tool struct {
	// Name is the tool's name, usually server.tool.
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Parameters  []string `json:"parameters,omitempty"` // names
}

// The usual constants of BM25, and the weights of the fields. A word in a tool's name says more about the tool than one of the many
// words of its description.
const (
	saturation = 1.2 // how quickly further occurrences of a word stop to count
	lengths    = 0.6 // how much a long text loses against a short one

	nameWeight        = 3.0
	descriptionWeight = 1.0
	parameterWeight   = 0.4
)

// Index finds tools. It is safe for concurrent use.
type Index struct {
	postings map[string][]posting // by word
	sizes    []float64            // weighted number of words, by tool
	average  float64              // of sizes
}

// posting is a tool with a word, and the weighted number of occurrences.
type posting struct {
	tool  int
	count float64
}

// New indexes tools.
func New(tools []Tool) *Index {
	x := &Index{postings: map[string][]posting{}, sizes: make([]float64, len(tools))}
	for n, t := range tools {
		counts := map[string]float64{}
		add := func(text string, weight float64) {
			for _, word := range memory.Words(apart(text)) {
				counts[word] += weight
				x.sizes[n] += weight
			}
		}
		add(t.Name, nameWeight)
		add(t.Description, descriptionWeight)
		add(strings.Join(t.Parameters, " "), parameterWeight)
		for word, count := range counts {
			x.postings[word] = append(x.postings[word], posting{n, count}) // in the order of tools, because each adds one at most
		}
		x.average += x.sizes[n] / float64(len(tools))
	}
	return x
}

// Search returns the indexes of the matching tools, best first, at most limit. Equally good tools keep their order.
func (x *Index) Search(query string, limit int) []int {
	scores := make([]float64, len(x.sizes))
	for _, word := range memory.Query(apart(query)) {
		for _, form := range append([]string{word}, synonyms[word]...) {
			weight := 1.0
			if form != word {
				weight = synonymWeight
			}
			x.score(form, weight, scores)
		}
	}
	var found []int
	for n, score := range scores {
		if score > 0 {
			found = append(found, n)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return found[:min(len(found), max(limit, 0))]
}

// score adds the scores of the tools with a word.
func (x *Index) score(word string, weight float64, scores []float64) {
	all := x.postings[word]
	rarity := math.Log(1 + (float64(len(x.sizes)-len(all))+0.5)/(float64(len(all))+0.5))
	for _, p := range all {
		norm := saturation * (1 - lengths + lengths*x.sizes[p.tool]/x.average)
		scores[p.tool] += weight * rarity * p.count * (saturation + 1) / (p.count + norm)
	}
}

// apart puts spaces between the words of names such as getJiraIssue and list_pull_requests.
func apart(text string) string {
	var out strings.Builder
	lower := false
	for _, r := range text {
		if unicode.IsUpper(r) && lower {
			out.WriteByte(' ')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		if r == '_' {
			r = ' '
		}
		out.WriteRune(r)
	}
	return out.String()
}

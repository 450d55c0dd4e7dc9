package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
	"github.com/inquest-dev/inquest/internal/store"
)

// searchedInvestigations is the number of investigations in BenchmarkSearch.
const searchedInvestigations = 200_000

// BenchmarkSearch measures a page of 50 results among 200,000 investigations. Each has an alert of 40 words and a report of 120,
// with the word frequencies of a language. The rows are written like those of an older program, and indexed by KeepIndexed.
func BenchmarkSearch(b *testing.B) {
	onEach(b, func(b *testing.B, s *store.Store) {
		words, ctx := newText(7), b.Context()
		began := time.Now()
		s.FillUnindexed(b, searchedInvestigations, func(n int) (record.Investigation, []byte) {
			id := fmt.Sprintf("alert-%06d", n)
			project := "default"
			if n%1000 == 0 {
				project = "small"
			}
			old := ""
			if n < searchedInvestigations/10 {
				old = "decommissioned"
			}
			return record.Investigation{
					ID: id + "/1", WorkflowID: id, RunID: "1", Chain: "kubernetes", AlertType: "PodCrash", PlanHash: "p", Status: agent.StatusCompleted,
					Labels: agent.Labels{Project: project}, StartedAt: time.Unix(int64(n), 0), Report: "# Cause\n" + prose(words, 120), Error: old,
				}, []byte(fmt.Sprintf(`{"pod": "checkout-%05x-%04x", "reason": "OOMKilled", "trace": "traceid%x", "text": %q}`,
					n*7, n%65536, n, prose(words, 40)))
		})
		b.Logf("written in %s", time.Since(began).Round(time.Second))
		began = time.Now()
		if err := s.IndexAll(ctx); err != nil {
			b.Fatal(err)
		}
		size, err := s.Size(ctx)
		b.Logf("indexed in %s; %d MB, %v", time.Since(began).Round(time.Second), size>>20, err)
		for _, bench := range []struct {
			name   string
			filter store.Filter
			found  bool
		}{
			{"in all", store.Filter{Search: "OOMKilled"}, true},
			{"in old ones", store.Filter{Search: "decommissioned"}, true},
			{"in one", store.Filter{Search: fmt.Sprintf("checkout-%05x", 777*7)}, true},
			{"in a name", store.Filter{Search: "rt-00077"}, true},
			{"in none", store.Filter{Search: "no-such-thing"}, false},
			{"common words", store.Filter{Search: syllables(1) + " " + syllables(2)}, true},
			{"rare words", store.Filter{Search: syllables(70) + " " + syllables(900)}, true},
			{"three characters", store.Filter{Search: syllables(1)[:3]}, true},
			{"five characters", store.Filter{Search: syllables(9999)[:5]}, true},
			{"a beginning of very many words", store.Filter{Search: "traceid"}, true},
			{"a longer beginning of many words", store.Filter{Search: "traceid1"}, true},
			{"a longer beginning still", store.Filter{Search: "traceid2f"}, true},
			{"in all of a small project", store.Filter{Search: "OOMKilled", Projects: []string{"small"}}, true},
			{"in none of a project", store.Filter{Search: "OOMKilled", Projects: []string{"empty"}}, false},
		} {
			b.Run(strings.ReplaceAll(bench.name, " ", "_"), func(b *testing.B) {
				bench.filter.Limit = 50
				median(b, func() {
					all, err := s.Investigations(ctx, bench.filter)
					if err != nil || len(all) > 0 != bench.found {
						b.Fatalf("%d found, %v", len(all), err)
					}
				})
			})
		}
	})
}

// prose returns a text of n invented words: some are in every text, most in few.
func prose(t text, n int) string {
	var words []string
	for range n {
		words = append(words, syllables(int(t.zipf.Uint64())))
	}
	return strings.Join(words, " ")
}

// syllables returns the n-th invented word.
func syllables(n int) string {
	word := ""
	for n += 500; n > 0; n /= 100 {
		word += string("bdfgklmnprstvzhjcwxq"[n%20]) + string("aeiou"[n/20%5])
	}
	return word
}

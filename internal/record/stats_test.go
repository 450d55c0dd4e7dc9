package record

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Groups are sorted by size. Times are those of completed investigations, and costs those of all.
func TestStatsOf(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	of := func(chain string, minutes int, cost float64, status agent.Status, rating Verdict) Outcome {
		end := begin.Add(time.Duration(minutes) * time.Minute)
		review := Reviewed
		if rating == "" {
			review = NeedsReview
		}
		return Outcome{
			Chain: chain, PlanHash: "0123456789abcdef", Models: []string{"a", "b"}, Status: status, Usage: agent.Usage{CostUSD: cost},
			StartedAt: begin, EndedAt: &end, Rating: rating, Review: review,
		}
	}
	partial := of("db", 4, 0, agent.StatusCompleted, "")
	partial.EndReason = agent.EndPartial
	blind := of("db", 1, 1, agent.StatusCompleted, Accurate)
	blind.NoToolResult = true
	eighty, fifty := 80, 50
	blind.Score, partial.Score = &eighty, &fifty
	all := []Outcome{
		of("shop", 1, 0.5, agent.StatusCompleted, Accurate), partial, blind, of("db", 100, 3, agent.StatusFailed, Inaccurate),
		of("db", 2, 2, agent.StatusCompleted, Partly),
	}
	groups, total := StatsOf(all, ByChain)
	db := Stats{
		Name: "db", Ended: 4, Completed: 3, Inconclusive: 2, NeedReview: 1, Accurate: 1, Partly: 1, Inaccurate: 1, Scored: 2, MeanScore: 65,
		CostUSD: 6, MedianCostUSD: 1, MedianSeconds: 120, P90Seconds: 240,
	}
	shop := Stats{
		Name: "shop", Ended: 1, Completed: 1, Accurate: 1, CostUSD: 0.5, MedianCostUSD: 0.5, MedianSeconds: 60, P90Seconds: 60,
	}
	if diff := cmp.Diff([]Stats{db, shop}, groups); diff != "" || total.Ended != 5 || total.Accurate != 2 {
		t.Errorf("%s%+v", diff, total)
	}
	for by, want := range map[StatsKey]string{ByModel: "a, b", ByPlan: "db 0123456789ab"} {
		if groups, _ := StatsOf(all, by); groups[0].Name != want {
			t.Errorf("by %s: %+v", by, groups)
		}
	}
	if groups, total := StatsOf(nil, ByChain); groups == nil || len(groups) != 0 || total != (Stats{Name: "total"}) {
		t.Errorf("of nothing: %+v, %+v", groups, total)
	}
}

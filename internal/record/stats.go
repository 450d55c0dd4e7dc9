package record

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/agent"
)

// Outcome is how an investigation ended, and what people think of the result.
type Outcome struct {
	ID        string
	Chain     string
	PlanHash  string
	Models    []string // sorted
	Status    agent.Status
	EndReason agent.EndReason
	Usage     agent.Usage
	StartedAt time.Time
	EndedAt   *time.Time
	// NoToolResult: see Envelope.
	NoToolResult bool
	Rating       Verdict // the latest, whoever gave it; empty means none
	Review       ReviewState
	Score        *int // the latest, 0 to 100; nil means none
}

// Inconclusive reports whether an investigation completed without a full result: it is partial, a limit cut it short, or no tool call
// succeeded.
func (o Outcome) Inconclusive() bool {
	return o.Status == agent.StatusCompleted && (o.EndReason == agent.EndPartial || o.EndReason.Cut() || o.NoToolResult)
}

// Stats summarises ended investigations. Costs are in US dollars, and known only for providers with known prices.
type Stats struct {
	Name         string `json:"name" doc:"chain, models or plan of the group; the sum of all is named total"`
	Ended        int    `json:"ended" doc:"number of ended investigations"`
	Completed    int    `json:"completed"`
	Inconclusive int    `json:"inconclusive" doc:"completed, but partial, cut short by a limit, or without any successful tool call"`
	NeedReview   int    `json:"need_review" doc:"number whose review is not complete"`
	Accurate     int    `json:"accurate" doc:"number whose latest rating is accurate"`
	Partly       int    `json:"partly" doc:"number whose latest rating is partly"`
	Inaccurate   int    `json:"inaccurate" doc:"number whose latest rating is inaccurate"`
	Scored       int    `json:"scored" doc:"number of investigations with a score"`
	// MeanScore is zero if none has a score.
	MeanScore     float64 `json:"mean_score" doc:"mean of the latest scores, 0 to 100"`
	CostUSD       float64 `json:"cost_usd" doc:"total cost"`
	MedianCostUSD float64 `json:"median_cost_usd"`
	MedianSeconds float64 `json:"median_seconds" doc:"median time from start to end of completed investigations; 0 if there are none"`
	P90Seconds    float64 `json:"p90_seconds" doc:"90th percentile of the same times"`
}

// StatsKey is how outcomes are grouped.
type StatsKey string

// The groups: by chain, by the models of the agents, or by plan (the configuration that an investigation started with).
const (
	ByChain StatsKey = "chain"
	ByModel StatsKey = "model"
	ByPlan  StatsKey = "plan"
)

// StatsKeys returns all keys.
func StatsKeys() []StatsKey { return []StatsKey{ByChain, ByModel, ByPlan} }

// of returns the name of an outcome's group.
func (k StatsKey) of(o Outcome) string {
	switch k {
	case ByModel:
		return cmp.Or(strings.Join(o.Models, ", "), "none")
	case ByPlan:
		const short = 12 // characters that tell plans apart
		return o.Chain + " " + o.PlanHash[:min(short, len(o.PlanHash))]
	}
	return o.Chain
}

// StatsOf summarises outcomes by group, the largest first, and in total.
func StatsOf(all []Outcome, by StatsKey) (groups []Stats, total Stats) {
	members := map[string][]Outcome{}
	for _, o := range all {
		members[by.of(o)] = append(members[by.of(o)], o)
	}
	groups = []Stats{} // not null in JSON
	for name, some := range members {
		groups = append(groups, summary(name, some))
	}
	slices.SortFunc(groups, func(a, b Stats) int { return cmp.Or(cmp.Compare(b.Ended, a.Ended), cmp.Compare(a.Name, b.Name)) })
	return groups, summary("total", all)
}

func summary(name string, all []Outcome) Stats {
	out := Stats{Name: name, Ended: len(all)}
	count := func(to *int, is bool) {
		if is {
			*to++
		}
	}
	var costs, seconds []float64
	scores := 0
	for _, o := range all {
		count(&out.Completed, o.Status == agent.StatusCompleted)
		count(&out.Inconclusive, o.Inconclusive())
		count(&out.NeedReview, o.Review != Reviewed)
		count(&out.Accurate, o.Rating == Accurate)
		count(&out.Partly, o.Rating == Partly)
		count(&out.Inaccurate, o.Rating == Inaccurate)
		if o.Score != nil {
			out.Scored++
			scores += *o.Score
		}
		out.CostUSD += o.Usage.CostUSD
		costs = append(costs, o.Usage.CostUSD)
		if o.Status == agent.StatusCompleted {
			seconds = append(seconds, o.EndedAt.Sub(o.StartedAt).Seconds())
		}
	}
	if out.Scored > 0 {
		out.MeanScore = float64(scores) / float64(out.Scored)
	}
	out.MedianCostUSD, out.MedianSeconds, out.P90Seconds = quantile(costs, 0.5), quantile(seconds, 0.5), quantile(seconds, 0.9)
	return out
}

// quantile returns the smallest of the numbers that is not below the given share (0 to 1) of them; 0 if there are none. It sorts them.
func quantile(all []float64, share float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[max(0, int(math.Ceil(share*float64(len(all))))-1)]
}

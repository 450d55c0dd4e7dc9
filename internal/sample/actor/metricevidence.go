package actor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/sample/logline"
)

// evidence compares every series before and after the onset.
func (a metricsAgent) evidence() []string {
	var out []string
	for _, metric := range slices.Sorted(maps.Keys(a.shown)) {
		for _, service := range slices.Sorted(maps.Keys(a.shown[metric])) {
			before, after, ok := around(a.shown[metric][service], a.onset)
			felt := slowness.MatchString(metric) || failing.MatchString(metric)
			if !ok || before == after || unchanged(before, after) || felt && after < before {
				continue // noise, or better than before
			}
			out = append(out, fmt.Sprintf("query_metric %s of %s: mean %s before the onset, %s after.", metric, service, number(before), number(after)))
		}
	}
	return out
}

// unchanged leaves out what moved by less than a quarter: noise, in this data.
func unchanged(before, after float64) bool {
	return after < 1.25*before && after > 0.75*before
}

// pool says whether a limit of the suspect fell and is now used up.
func (a metricsAgent) pool() (text string, full bool) {
	limit, used := a.last("pool_max"), a.last("pool_in_use")
	if len(limit) == 0 || len(used) == 0 {
		return "", false
	}
	was, now := limit[0].value, limit[len(limit)-1].value
	busy := used[len(used)-1].value
	full = busy >= now
	if now < was {
		text = fmt.Sprintf(" Its connection pools shrank from %s to %s in all.", number(was), number(now))
	}
	if full {
		text += fmt.Sprintf(" They are full: %s of %s connections are in use.", number(busy), number(now))
	}
	return text, full
}

// last returns the suspect's points of the metric whose name holds the words.
func (a metricsAgent) last(words string) []point {
	for _, metric := range slices.Sorted(maps.Keys(a.shown)) {
		if strings.Contains(metric, words) {
			return a.shown[metric][a.suspect]
		}
	}
	return nil
}

// spikes are rises of other services that passed again, or that came at another time.
func (a metricsAgent) spikes() []string {
	var out []string
	for _, service := range slices.Sorted(maps.Keys(a.shown[a.metric])) {
		points := a.shown[a.metric][service]
		before, after, ok := around(points, a.onset)
		if !ok || !unchanged(before, after) {
			continue
		}
		peak := slices.MaxFunc(points, func(p, q point) int { return cmp.Compare(p.value, q.value) })
		if peak.value > 3*before {
			out = append(out, fmt.Sprintf("%s of %s: a short peak of %s at %s.", a.metric, service, number(peak.value), logline.Stamp(peak.at)))
		}
	}
	return out
}

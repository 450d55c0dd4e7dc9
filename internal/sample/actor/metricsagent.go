package actor

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/sample/logline"
)

// metricsAgent looks for the service whose numbers changed most, and what else changed with it.
type metricsAgent struct {
	scene
	shown   map[string]series
	listed  map[string][]string
	suspect string
	metric  string    // the one that shows it
	onset   time.Time // of the suspect's rise
}

// What users feel, by the names of metrics: slowness first, because it can be compared between services.
var (
	slowness = regexp.MustCompile(`duration|latency|p9\d`)
	failing  = regexp.MustCompile(`5xx|error`)
)

func newMetricsAgent(s scene) metricsAgent {
	a := metricsAgent{scene: s}
	a.shown, a.listed = readMetrics(s)
	worst := 0.0
	for _, metric := range slices.Sorted(maps.Keys(a.shown)) {
		if !slowness.MatchString(metric) {
			continue
		}
		for _, service := range slices.Sorted(maps.Keys(a.shown[metric])) {
			points := a.shown[metric][service]
			at, rises := onset(points)
			before, after, ok := around(points, at)
			if rises && ok && after/max(before, 1e-9) > worst {
				worst = after / max(before, 1e-9)
				a.suspect, a.metric, a.onset = service, metric, at
			}
		}
	}
	return a
}

func (a metricsAgent) wants() []ask {
	asks := []ask{{"list_metrics", nil}}
	for _, metric := range slices.Sorted(maps.Keys(a.listed)) {
		if slowness.MatchString(metric) || failing.MatchString(metric) {
			asks = append(asks, ask{"query_metric", map[string]any{"name": metric}})
		}
	}
	if a.suspect == "" {
		return asks
	}
	from := logline.Stamp(a.onset.Add(-20 * time.Minute))
	for _, metric := range slices.Sorted(maps.Keys(a.listed)) {
		args := map[string]any{"name": metric, "from": from}
		switch {
		case slowness.MatchString(metric) || failing.MatchString(metric):
			continue
		case slices.Contains(a.listed[metric], a.suspect):
			args["service"] = a.suspect
		case !strings.Contains(metric, "connections"):
			continue // not of the suspect, nor of what it may wait for
		}
		asks = append(asks, ask{"query_metric", args})
	}
	return asks
}

func (a metricsAgent) thought() string {
	switch {
	case len(a.calls) == 0:
		return "I know only the alert. Which metrics are there, and for which services?"
	case len(a.shown) == 0:
		return "First what users feel: latency and errors of every service, to see who changed most and when."
	case a.suspect == "":
		return "No latency rises above three times its usual value and stays there."
	}
	before, after, _ := around(a.shown[a.metric][a.suspect], a.onset)
	return fmt.Sprintf("%s rises most, from %s to %s (%s), from %s on. What else changed in it: load, CPU, memory, connections?",
		a.suspect, number(before), number(after), a.metric, logline.Stamp(a.onset))
}

func (a metricsAgent) conclude() report {
	if a.suspect == "" {
		return report{opening: "## Metrics\n\nI found no service whose latency rose above three times its usual value and stayed there.",
			facts: []labelled{{confidenceFact, "low"}}}
	}
	before, after, _ := around(a.shown[a.metric][a.suspect], a.onset)
	pool, full := a.pool()
	confidence := "medium"
	if full {
		confidence = "high"
	}
	return report{
		opening: fmt.Sprintf("## Metrics\n\n%s changed most: %s went from %s to %s, a factor of %s, from %s on.%s",
			a.suspect, a.metric, number(before), number(after), number(after/max(before, 1e-9)), logline.Stamp(a.onset), pool),
		facts: []labelled{
			{suspectFact, a.suspect}, {onsetFact, logline.Stamp(a.onset)}, {symptomFact, a.metric + " rises"}, {confidenceFact, confidence},
		},
		evidence: a.evidence(),
		other:    a.spikes(),
	}
}

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

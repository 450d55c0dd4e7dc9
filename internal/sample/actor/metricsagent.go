package actor

import (
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

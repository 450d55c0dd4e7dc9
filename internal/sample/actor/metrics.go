package actor

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/sample/logline"
)

// Patterns for the names of metrics that users feel. Slowness can be compared between services.
var (
	slowness = regexp.MustCompile(`duration|latency|p9\d`)
	felt     = regexp.MustCompile(slowness.String() + `|5xx|error`)
)

// metricsAgent looks for the service whose metrics changed most, and for other changes at that time.
func metricsAgent(s scene) role {
	shown, listed := readMetrics(s)
	see := struct {
		Shown bool
		Rise  string
	}{Shown: len(shown) > 0}
	var worst series
	var onset time.Time
	factor := 0.0
	for _, m := range shown {
		at, rises := m.onset()
		before, after, ok := m.around(at)
		if rises && ok && slowness.MatchString(m.metric) && after/max(before, 1e-9) > factor {
			factor, worst, onset = after/max(before, 1e-9), m, at
			see.Rise = fmt.Sprintf("%s went from %s to %s, a factor of %s", m.metric, number(before), number(after), number(factor))
		}
	}
	r := role{wants: metricsWants(listed, worst.service, onset), findings: findings{Confidence: "low"}, See: see}
	if worst.service != "" {
		r.findings = findings{Suspect: worst.service, Onset: logline.Stamp(onset), Symptom: worst.metric + " rises", Confidence: "medium"}
		r.Evidence, r.Other = describeMetrics(shown, worst.metric, onset)
	}
	return r
}

// metricsWants requests the metrics that users feel first, then the other metrics of the suspect.
func metricsWants(listed map[string][]string, suspect string, onset time.Time) []ask {
	asks := []ask{{"list_metrics", nil}}
	var rest []ask
	for _, metric := range slices.Sorted(maps.Keys(listed)) {
		args := map[string]any{"name": metric, "from": logline.Stamp(onset.Add(-20 * time.Minute))}
		switch {
		case felt.MatchString(metric):
			asks = append(asks, ask{"query_metric", map[string]any{"name": metric}})
		case slices.Contains(listed[metric], suspect):
			args["service"] = suspect
			rest = append(rest, ask{"query_metric", args})
		case strings.Contains(metric, "connections"): // the suspect may be waiting for these
			rest = append(rest, ask{"query_metric", args})
		}
	}
	if suspect == "" {
		return asks
	}
	return append(asks, rest...)
}

// describeMetrics compares every series before and after the onset. Others are peaks that did not last.
func describeMetrics(shown []series, metric string, onset time.Time) (evidence, other []string) {
	for _, m := range shown {
		before, after, ok := m.around(onset)
		same := after < 1.25*before && after > 0.75*before || before == after // noise, in this data
		switch {
		case !ok:
		case !same && (after > before || !felt.MatchString(m.metric)):
			evidence = append(evidence, fmt.Sprintf("query_metric %s of %s: mean %s before the onset, %s after.",
				m.metric, m.service, number(before), number(after)))
		case same && m.metric == metric:
			peak := slices.MaxFunc(m.points, func(p, q point) int { return cmp.Compare(p.value, q.value) })
			if peak.value > 3*before {
				other = append(other, fmt.Sprintf("%s of %s: a short peak of %s at %s.",
					m.metric, m.service, number(peak.value), logline.Stamp(peak.at)))
			}
		}
	}
	return evidence, other
}

// series holds the points of one metric for one service.
type series struct {
	metric, service string
	points          []point
}

type point struct {
	at    time.Time
	value float64
}

var metricEntry = regexp.MustCompile(`(?m)^(\w+): ([^;\n]+); points: \d`)

// readMetrics returns the series from query_metric so far, and the services for which each listed metric exists.
func readMetrics(s scene) (shown []series, listed map[string][]string) {
	listed = map[string][]string{}
	for _, c := range s.results("query_metric") {
		in := csv.NewReader(strings.NewReader(c.result))
		in.FieldsPerRecord = -1
		rows, _ := in.ReadAll()
		if len(rows) == 0 {
			continue
		}
		for i, service := range rows[0][1:] {
			shown = append(shown, series{c.text("name"), service, column(rows, i+1)})
		}
	}
	for _, c := range s.results("list_metrics") {
		for _, m := range metricEntry.FindAllStringSubmatch(c.result, -1) {
			listed[m[1]] = strings.Split(m[2], ", ")
		}
	}
	return shown, listed
}

// column returns one service's points. It skips truncated rows.
func column(rows [][]string, i int) (out []point) {
	for _, row := range rows[1:] {
		at, err := time.Parse(time.RFC3339, row[0])
		if err != nil || len(row) != len(rows[0]) {
			continue
		}
		if value, err := strconv.ParseFloat(row[i], 64); err == nil {
			out = append(out, point{at, value})
		}
	}
	return out
}

// sustained is how many consecutive points make a rise rather than a spike.
const sustained = 5

// onset returns when the points rise above three times the usual value and stay there. The usual value is the median of the first third.
// ok is false if they never do.
func (m series) onset() (at time.Time, ok bool) {
	if len(m.points) < 2*sustained {
		return at, false
	}
	first := slices.SortedFunc(slices.Values(m.points[:len(m.points)/3]), func(p, q point) int { return cmp.Compare(p.value, q.value) })
	usual := first[len(first)/2].value
	run := 0
	for i, p := range m.points {
		if p.value <= 3*usual {
			run = 0
			continue
		}
		if run++; run == sustained {
			return m.points[i-sustained+1].at, true
		}
	}
	return at, false
}

// around returns the means before a time and from that time on. ok is false if one side has no points.
func (m series) around(when time.Time) (before, after float64, ok bool) {
	var sums, counts [2]float64
	for _, p := range m.points {
		side := 0
		if !p.at.Before(when) {
			side = 1
		}
		sums[side] += p.value
		counts[side]++
	}
	if counts[0] == 0 || counts[1] == 0 {
		return 0, 0, false
	}
	return sums[0] / counts[0], sums[1] / counts[1], true
}

// number formats a value for people.
func number(v float64) string {
	if v >= 10 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

package actor

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

type point struct {
	at    time.Time
	value float64
}

// series are the points of one metric by service.
type series map[string][]point

// readMetrics returns what query_metric has shown so far, by metric, and the
// services that each listed metric is measured for.
func readMetrics(s scene) (shown map[string]series, listed map[string][]string) {
	shown, listed = map[string]series{}, map[string][]string{}
	for _, c := range s.results("query_metric") {
		name := c.text("name")
		if shown[name] == nil {
			shown[name] = series{}
		}
		shown[name].add(c.result)
	}
	entry := regexp.MustCompile(`(?m)^(\w+): ([^;\n]+); \d+ points`)
	for _, c := range s.results("list_metrics") {
		for _, m := range entry.FindAllStringSubmatch(c.result, -1) {
			listed[m[1]] = strings.Split(m[2], ", ")
		}
	}
	return shown, listed
}

// add reads a table; a row that was cut short is left out.
func (s series) add(table string) {
	in := csv.NewReader(strings.NewReader(table))
	in.FieldsPerRecord = -1
	rows, _ := in.ReadAll()
	for _, row := range rows[min(1, len(rows)):] {
		at, err := time.Parse(time.RFC3339, row[0])
		if err != nil || len(row) != len(rows[0]) {
			continue
		}
		for i, service := range rows[0][1:] {
			if value, err := strconv.ParseFloat(row[i+1], 64); err == nil {
				s[service] = append(s[service], point{at, value})
			}
		}
	}
}

// sustained is how many points in a row make a rise more than a spike.
const sustained = 5

// onset is where points rise above three times their usual value and stay there.
// Usual is the median of the first third. ok is false if they never do.
func onset(points []point) (at time.Time, ok bool) {
	if len(points) < 2*sustained {
		return at, false
	}
	first := make([]float64, 0, len(points))
	for _, p := range points[:len(points)/3] {
		first = append(first, p.value)
	}
	slices.Sort(first)
	usual := first[len(first)/2]
	run := 0
	for i, p := range points {
		if p.value <= 3*usual {
			run = 0
			continue
		}
		if run++; run == sustained {
			return points[i-sustained+1].at, true
		}
	}
	return at, false
}

// around returns the means before a time and from it on; ok is false if there is nothing on one side.
func around(points []point, when time.Time) (before, after float64, ok bool) {
	var sums, counts [2]float64
	for _, p := range points {
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

// number writes a value the way a person would.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	}
	return fmt.Sprintf("%.2g", v)
}

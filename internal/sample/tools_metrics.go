package sample

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
)

type metricQuery struct {
	Name    string `json:"name" jsonschema:"a metric from list_metrics"`
	Service string `json:"service,omitempty" jsonschema:"a service that the metric is measured for; omit it for all of them"`
	From    string `json:"from,omitempty" jsonschema:"the earliest time, RFC 3339, for example 2026-03-17T14:00:00Z"`
	To      string `json:"to,omitempty" jsonschema:"the latest time, RFC 3339"`
}

func (in incident) listMetrics(none) (string, error) {
	names, err := in.names("metrics", ".csv")
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d metrics:\n", len(names))
	for _, name := range names {
		rows, err := in.metric(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s: %s; points: %d", name, strings.Join(rows[0][1:], ", "), len(rows)-1)
		if len(rows) > 1 {
			fmt.Fprintf(&out, ", %s to %s", rows[1][0], rows[len(rows)-1][0])
		}
		out.WriteString("\n")
	}
	return out.String(), nil
}

// metric reads a metric's table: a header (time, then services), then the points.
func (in incident) metric(name string) ([][]string, error) {
	file, err := in.pick("metric", "metrics", name, ".csv")
	if err != nil {
		return nil, err
	}
	text, err := in.read(file)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if len(rows) == 0 || len(rows[0]) < 2 || rows[0][0] != "time" {
		return nil, fmt.Errorf("read %s: the first row must be time and at least one service", file)
	}
	return rows, nil
}

func (in incident) queryMetric(q metricQuery) (string, error) {
	when, err := parseSpan("from", q.From, "to", q.To)
	if err != nil {
		return "", err
	}
	rows, err := in.metric(q.Name)
	if err != nil {
		return "", err
	}
	first, end := 1, len(rows[0])
	if q.Service != "" {
		first = slices.Index(rows[0], q.Service)
		end = first + 1
	}
	if first < 1 {
		return "", fmt.Errorf("metric %s has no data for service %q; available: %s", q.Name, q.Service, strings.Join(rows[0][1:], ", "))
	}
	var out strings.Builder
	for i, row := range rows {
		if i > 0 {
			at, err := parseTime(q.Name, row[0])
			if err != nil {
				return "", err
			}
			if !when.has(at) {
				continue
			}
		}
		fmt.Fprintf(&out, "%s,%s\n", row[0], strings.Join(row[first:end], ","))
	}
	return out.String(), nil
}

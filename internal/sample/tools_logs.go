package sample

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

type logQuery struct {
	Service  string `json:"service,omitempty" jsonschema:"a service that list_services names; all services if left out"`
	Level    string `json:"level,omitempty" jsonschema:"the lowest level to return: debug, info, warn, error or fatal"`
	Contains string `json:"contains,omitempty" jsonschema:"text that the line contains, in any case"`
	Since    string `json:"since,omitempty" jsonschema:"the earliest time, RFC 3339, for example 2026-03-17T14:00:00Z"`
	Until    string `json:"until,omitempty" jsonschema:"the latest time, RFC 3339"`
	Limit    int    `json:"limit,omitempty" jsonschema:"the number of lines to return: 50 if left out, at most 200"`
}

func (in incident) listServices(none) (string, error) {
	services, err := in.services()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d services:\n", len(services))
	for _, service := range services {
		lines, err := in.log(service)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s: %d lines (%s)%s\n", service, len(lines), byLevel(lines), during(lines))
	}
	return out.String(), nil
}

func byLevel(lines []logLine) string {
	n := map[string]int{}
	for _, l := range lines {
		n[l.level]++
	}
	var out []string
	for _, level := range levels {
		if n[level] > 0 {
			out = append(out, fmt.Sprintf("%s %d", level, n[level]))
		}
	}
	return strings.Join(out, ", ")
}

func during(lines []logLine) string {
	if len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf(", %s to %s", stamp(lines[0].at), stamp(lines[len(lines)-1].at))
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func (in incident) queryLogs(q logQuery) (string, error) {
	limit, err := count(q.Limit, 50, 200)
	if err != nil {
		return "", err
	}
	matching, err := in.match(q)
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(matching, func(a, b logLine) int { return a.at.Compare(b.at) })
	shown := matching[:min(limit, len(matching))]
	var out strings.Builder
	fmt.Fprintf(&out, "%d lines match%s. Shown: %d, oldest first.\n", len(matching), byService(matching), len(shown))
	for _, l := range shown {
		fmt.Fprintf(&out, "[%s] %s\n", l.service, l.raw)
	}
	return out.String(), nil
}

// match returns the lines that a query asks for, unordered.
func (in incident) match(q logQuery) ([]logLine, error) {
	when, err := parseSpan("since", q.Since, "until", q.Until)
	if err != nil {
		return nil, err
	}
	if q.Level != "" && rank(q.Level) < 0 {
		return nil, fmt.Errorf("unknown level %q; there are: %s", q.Level, strings.Join(levels[:], ", "))
	}
	services := []string{q.Service}
	if q.Service == "" {
		if services, err = in.services(); err != nil {
			return nil, err
		}
	}
	text := strings.ToLower(q.Contains)
	var out []logLine
	for _, service := range services {
		lines, err := in.log(service)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if when.has(l.at) && rank(l.level) >= rank(q.Level) && strings.Contains(strings.ToLower(l.raw), text) {
				out = append(out, l)
			}
		}
	}
	return out, nil
}

func byService(lines []logLine) string {
	n := map[string]int{}
	for _, l := range lines {
		n[l.service]++
	}
	var out []string
	for _, service := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%s %d", service, n[service]))
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}

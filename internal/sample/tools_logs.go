package sample

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inquest-dev/inquest/internal/sample/logline"
)

type logQuery struct {
	Service  string `json:"service,omitempty" jsonschema:"a service from list_services; omit it for all services"`
	Level    string `json:"level,omitempty" jsonschema:"the lowest level to return: debug, info, warn, error or fatal"`
	Contains string `json:"contains,omitempty" jsonschema:"text that the line contains, in any letter case"`
	Since    string `json:"since,omitempty" jsonschema:"the earliest time, RFC 3339, for example 2026-03-17T14:00:00Z"`
	Until    string `json:"until,omitempty" jsonschema:"the latest time, RFC 3339"`
	Limit    int    `json:"limit,omitempty" jsonschema:"number of lines to return: 50 by default, at most 200"`
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
		fmt.Fprintf(&out, "%s: lines: %d (%s)%s\n", service, len(lines), byLevel(lines), during(lines))
	}
	return out.String(), nil
}

func byLevel(lines []logline.Line) string {
	n := map[string]int{}
	for _, l := range lines {
		n[l.Level]++
	}
	var out []string
	for _, level := range logline.Levels {
		if n[level] > 0 {
			out = append(out, fmt.Sprintf("%s %d", level, n[level]))
		}
	}
	return strings.Join(out, ", ")
}

func during(lines []logline.Line) string {
	if len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf(", %s to %s", logline.Stamp(lines[0].At), logline.Stamp(lines[len(lines)-1].At))
}

func (in incident) queryLogs(q logQuery) (string, error) {
	limit, err := count(q.Limit, 50, 200)
	if err != nil {
		return "", err
	}
	matching, err := in.match(q)
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(matching, func(a, b logline.Line) int { return a.At.Compare(b.At) })
	shown := matching[:min(limit, len(matching))]
	var out strings.Builder
	fmt.Fprintf(&out, "Matching lines: %d%s. Shown: %d, oldest first.\n", len(matching), byService(matching), len(shown))
	for _, l := range shown {
		fmt.Fprintf(&out, "[%s] %s\n", l.Service, l.Raw)
	}
	return out.String(), nil
}

// match returns the lines that match a query, unordered.
func (in incident) match(q logQuery) ([]logline.Line, error) {
	when, err := parseSpan("since", q.Since, "until", q.Until)
	if err != nil {
		return nil, err
	}
	if q.Level != "" && logline.Rank(q.Level) < 0 {
		return nil, fmt.Errorf("unknown level %q; available: %s", q.Level, strings.Join(logline.Levels[:], ", "))
	}
	services := []string{q.Service}
	if q.Service == "" {
		if services, err = in.services(); err != nil {
			return nil, err
		}
	}
	text := strings.ToLower(q.Contains)
	var out []logline.Line
	for _, service := range services {
		lines, err := in.log(service)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if when.has(l.At) && logline.Rank(l.Level) >= logline.Rank(q.Level) && strings.Contains(strings.ToLower(l.Raw), text) {
				out = append(out, l)
			}
		}
	}
	return out, nil
}

func byService(lines []logline.Line) string {
	n := map[string]int{}
	for _, l := range lines {
		n[l.Service]++
	}
	var out []string
	for _, service := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%s %d", service, n[service]))
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

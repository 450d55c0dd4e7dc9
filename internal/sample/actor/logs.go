package actor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/sample/logline"
)

// logAgent looks for the service in whose logs the trouble begins.
func logAgent(s scene) role {
	logs := readLogs(s)
	see := struct {
		Asked          bool
		Ranking, Trail string
	}{Ranking: logs.ranking()}
	r := role{findings: findings{Confidence: "low"}, wants: []ask{{"list_services", nil}, errorsOf("")}}
	for _, service := range guided(s) {
		r.wants = append(r.wants, errorsOf(service))
	}
	if len(logs.errors) == 0 {
		r.See = see
		return r
	}
	path := logs.path(alertService(s.task))
	for _, service := range path {
		r.wants = append(r.wants, errorsOf(service))
	}
	see.Trail = strings.Join(path, " → ")
	var onset time.Time
	r.Suspect = path[len(path)-1]
	r.Symptom, onset = logs.symptom(r.Suspect)
	r.Onset = logline.Stamp(onset)
	// Without a query for the suspect's own errors, the onset would be that of the lines that happened to be shown.
	if see.Asked = s.made(errorsOf(r.Suspect)); see.Asked && !onset.IsZero() {
		r.wants = append(r.wants,
			ask{"query_logs", map[string]any{"service": r.Suspect, "contains": "starting", "limit": 20}},
			ask{"query_logs", map[string]any{"service": r.Suspect, "contains": "pool ready", "limit": 20}},
			eventsAround(onset, time.Minute, "name", r.Suspect))
	}
	r.Evidence, r.Other = logs.split(path)
	if changes := logs.changes(s, r.Suspect, onset); len(changes) > 0 {
		r.Evidence, r.Confidence = append(r.Evidence, changes...), "medium"
		if len(path) > 1 {
			r.Confidence = "high" // another service's errors and a change before the onset point the same way
		}
	}
	r.See = see
	return r
}

// errorLines is how many error lines to request at a time: about 3,000 tokens.
const errorLines = 60

// errorsOf asks for the errors of a service, or of all if the name is empty.
func errorsOf(service string) ask {
	args := map[string]any{"level": "error", "limit": errorLines}
	if service != "" {
		args["service"] = service
	}
	return ask{"query_logs", args}
}

// eventsAround asks for events of one name or kind that may have led to an onset.
func eventsAround(onset time.Time, after time.Duration, key, value string) ask {
	since, until := logline.Stamp(onset.Add(-15*time.Minute)), logline.Stamp(onset.Add(after))
	return ask{"list_events", map[string]any{key: value, "since": since, "until": until}}
}

// guided returns the services that people's guidance names.
func guided(s scene) (out []string) {
	for _, c := range s.results("list_services") {
		for line := range strings.Lines(c.result) {
			service, _, ok := strings.Cut(line, ": ")
			if ok && strings.Contains(strings.Join(s.guidance, "\n"), service) {
				out = append(out, service)
			}
		}
	}
	return out
}

// logFacts holds what query_logs has shown so far.
type logFacts struct {
	lines  []logline.Line // without duplicates, oldest first
	errors map[string]int // number of matching error lines by service, including those not shown
}

var serviceCount = regexp.MustCompile(`([\w-]+) (\d+)`)

func readLogs(s scene) logFacts {
	f := logFacts{errors: map[string]int{}}
	seen := map[string]bool{}
	for _, c := range s.results("query_logs") {
		header, rest, _ := strings.Cut(c.result, "\n")
		if c.text("level") == "error" {
			f.countErrors(header)
		}
		for text := range strings.Lines(rest) {
			service, raw, _ := strings.Cut(strings.TrimPrefix(strings.TrimRight(text, "\n"), "["), "] ")
			if line, ok := logline.ParseLine(raw); ok && !seen[text] {
				seen[text] = true
				line.Service = service
				f.lines = append(f.lines, line)
			}
		}
	}
	slices.SortStableFunc(f.lines, func(a, b logline.Line) int { return a.At.Compare(b.At) })
	return f
}

// countErrors parses "Matching lines: 101 (checkout 52, gateway 49). Shown: …".
func (f *logFacts) countErrors(header string) {
	_, counts, _ := strings.Cut(header, "(")
	counts, _, _ = strings.Cut(counts, ")")
	for _, m := range serviceCount.FindAllStringSubmatch(counts, -1) {
		if n, err := strconv.Atoi(m[2]); err == nil && n > 0 {
			f.errors[m[1]] = max(f.errors[m[1]], n)
		}
	}
}

func (f logFacts) ranking() string {
	var out []string
	for _, service := range ranked(f.errors) {
		out = append(out, fmt.Sprintf("%s %d", service, f.errors[service]))
	}
	return strings.Join(out, ", ")
}

// errorsOf returns a service's lines of level error and above.
func (f logFacts) errorsOf(service string) (out []logline.Line) {
	for _, l := range f.lines {
		if l.Service == service && logline.Rank(l.Level) >= logline.Rank("error") {
			out = append(out, l)
		}
	}
	return out
}

// tally counts values, taking for each line the first of the fields that it has.
func tally(lines []logline.Line, fields ...string) map[string]int {
	n := map[string]int{}
	for _, l := range lines {
		for _, field := range fields {
			if value := l.Fields[field]; value != "" {
				n[value]++
				break
			}
		}
	}
	return n
}

// blames returns the dependency that a service's errors name most often.
func (f logFacts) blames(service string) (next string, times int) {
	n := tally(f.errorsOf(service), "dependency", "upstream")
	next = most(n)
	return next, n[next]
}

// path follows the errors from the affected service to their origin: as long as a service's errors name a dependency, that is next.
func (f logFacts) path(start string) (out []string) {
	if f.errors[start] == 0 {
		start = most(f.errors)
	}
	for at := start; at != "" && !slices.Contains(out, at); {
		out = append(out, at)
		next, n := f.blames(at)
		if n*2 <= len(f.errorsOf(at)) {
			break // most of its errors are its own
		}
		at = next
	}
	return out
}

// symptom returns the most frequent error of a service and its first time.
func (f logFacts) symptom(service string) (msg string, since time.Time) {
	errs := f.errorsOf(service)
	msg = most(tally(errs, "msg"))
	for _, l := range errs {
		if l.Msg == msg {
			return msg, l.At
		}
	}
	return "", time.Time{}
}

// split divides the errors into those along the path and others.
func (f logFacts) split(path []string) (evidence, other []string) {
	evidence = []string{"query_logs: error lines by service: " + f.ranking() + "."}
	for _, service := range ranked(f.errors) {
		errs := f.errorsOf(service)
		if len(errs) == 0 {
			continue
		}
		msg := most(tally(errs, "msg"))
		if next, n := f.blames(service); slices.Contains(path, next) {
			evidence = append(evidence, fmt.Sprintf("query_logs: I read error lines of %s: %d. Those that name %s: %d, most often as %q.",
				service, len(errs), next, n, msg))
		} else if slices.Contains(path, service) {
			evidence = append(evidence, fmt.Sprintf("query_logs: I read error lines of %s: %d. Those that say %q: %d.",
				service, len(errs), msg, tally(errs, "msg")[msg]))
		} else {
			other = append(other, fmt.Sprintf("%s: error lines: %d, most often %q, from %s to %s.", service, f.errors[service], msg,
				logline.Stamp(errs[0].At), logline.Stamp(errs[len(errs)-1].At)))
		}
	}
	return evidence, other
}

// changes lists what happened to a service before the onset: versions, pools, rollouts.
func (f logFacts) changes(s scene, service string, onset time.Time) (out []string) {
	for _, field := range []string{"version", "max"} {
		last := ""
		for _, l := range f.lines {
			value := l.Fields[field]
			if l.Service == service && l.Level == "info" && value != "" && value != last && !l.At.After(onset) {
				last = value
				out = append(out, fmt.Sprintf("query_logs: %s started with %s %s at %s.", service, field, value, logline.Stamp(l.At)))
			}
		}
	}
	for _, c := range s.results("list_events") {
		if all := scaled.FindAllStringSubmatch(c.result, -1); len(all) > 0 {
			out = append(out, fmt.Sprintf("list_events: a rollout of %s began at %s, before the onset (%s). Its events: %d.",
				all[0][2], all[0][1], all[0][3], len(all)))
		}
	}
	return out
}

// alertService returns the service that an alert is about.
func alertService(task string) string {
	var alert struct {
		Service string `json:"service"`
		Labels  struct {
			Service string `json:"service"`
		} `json:"labels"`
	}
	for _, text := range prompt.Blocks(task, "alert") {
		if json.Unmarshal([]byte(text), &alert) == nil {
			return cmp.Or(alert.Service, alert.Labels.Service)
		}
	}
	return ""
}

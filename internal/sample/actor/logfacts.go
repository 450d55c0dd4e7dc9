package actor

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/prompt"
	"github.com/inquest-dev/inquest/internal/sample/logline"
)

// logFacts is what query_logs has shown so far.
type logFacts struct {
	lines  []logline.Line // each once, oldest first
	errors map[string]int // matching error lines by service, also those not shown
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
			if !seen[text] {
				seen[text] = true
				f.addLine(text)
			}
		}
	}
	slices.SortStableFunc(f.lines, func(a, b logline.Line) int { return a.At.Compare(b.At) })
	return f
}

// countErrors reads "101 lines match: checkout 52, gateway 49. Shown: …".
func (f *logFacts) countErrors(header string) {
	_, counts, _ := strings.Cut(header, ": ")
	counts, _, _ = strings.Cut(counts, ". ")
	for _, m := range serviceCount.FindAllStringSubmatch(counts, -1) {
		n, err := strconv.Atoi(m[2])
		if err == nil && n > 0 {
			f.errors[m[1]] = max(f.errors[m[1]], n)
		}
	}
}

func (f *logFacts) addLine(text string) {
	service, raw, ok := strings.Cut(strings.TrimPrefix(strings.TrimRight(text, "\n"), "["), "] ")
	if !ok {
		return
	}
	if line, ok := logline.ParseLine(raw); ok {
		line.Service = service
		f.lines = append(f.lines, line)
	}
}

// of returns a service's lines of at least a level.
func (f logFacts) of(service, level string) []logline.Line {
	var out []logline.Line
	for _, l := range f.lines {
		if l.Service == service && logline.Rank(l.Level) >= logline.Rank(level) {
			out = append(out, l)
		}
	}
	return out
}

// tally counts what the lines say in the first of the fields that they have.
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

// path follows the errors from where they hurt to where they begin: as long as a
// service's errors name a service that they depend on, that one is next.
func (f logFacts) path(start string) []string {
	if f.errors[start] == 0 {
		start, _ = most(f.errors)
	}
	var out []string
	for at := start; at != "" && !slices.Contains(out, at); {
		out = append(out, at)
		next, n := most(tally(f.of(at, "error"), "dependency", "upstream"))
		if n*2 <= len(f.of(at, "error")) {
			break // most of its errors are its own
		}
		at = next
	}
	return out
}

// symptom is what a service's errors say most often, and since when.
func (f logFacts) symptom(service string) (msg string, since time.Time) {
	errs := f.of(service, "error")
	msg, _ = most(tally(errs, "msg"))
	for _, l := range errs {
		if l.Msg == msg {
			return msg, l.At
		}
	}
	return "", time.Time{}
}

// alertService reads the service that an alert is about.
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

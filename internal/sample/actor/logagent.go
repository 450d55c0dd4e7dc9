package actor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inquest-dev/inquest/internal/sample/logline"
)

// logAgent looks for the service in whose logs the trouble begins.
type logAgent struct {
	scene
	logs    logFacts
	path    []string // from where it hurts to where it begins
	suspect string
	msg     string    // the suspect's most frequent error
	onset   time.Time // when that came first
}

func newLogAgent(s scene) logAgent {
	a := logAgent{scene: s, logs: readLogs(s)}
	if len(a.logs.errors) == 0 {
		return a
	}
	a.path = a.logs.path(alertService(s.task))
	a.suspect = a.path[len(a.path)-1]
	a.msg, a.onset = a.logs.symptom(a.suspect)
	return a
}

// errorLines is how many error lines are asked for at a time: some 3,000 tokens.
const errorLines = 60

func (a logAgent) wants() []ask {
	asks := []ask{
		{"list_services", nil},
		{"query_logs", map[string]any{"level": "error", "limit": errorLines}},
	}
	for _, service := range append(slices.Clone(a.path), a.guided()...) {
		asks = append(asks, ask{"query_logs", map[string]any{"service": service, "level": "error", "limit": errorLines}})
	}
	if !a.onset.IsZero() && a.asked(a.suspect) {
		asks = append(asks,
			ask{"query_logs", map[string]any{"service": a.suspect, "contains": "starting", "limit": 20}},
			ask{"query_logs", map[string]any{"service": a.suspect, "contains": "pool ready", "limit": 20}},
			ask{"list_events", map[string]any{"name": a.suspect, "since": logline.Stamp(a.onset.Add(-15 * time.Minute)), "until": logline.Stamp(a.onset.Add(time.Minute))}})
	}
	return asks
}

// asked reports whether a service's own errors were asked for: only then is the
// onset that of the service, not that of the lines that happened to be shown.
func (a logAgent) asked(service string) bool {
	return slices.ContainsFunc(a.calls, func(c answered) bool {
		return c.tool == "query_logs" && c.text("service") == service && c.text("level") == "error"
	})
}

// guided are the services that people's guidance names.
func (a logAgent) guided() []string {
	var out []string
	for _, c := range a.results("list_services") {
		for line := range strings.Lines(c.result) {
			service, _, ok := strings.Cut(line, ": ")
			if ok && strings.Contains(strings.Join(a.guidance, "\n"), service) {
				out = append(out, service)
			}
		}
	}
	return out
}

func (a logAgent) thought() string {
	switch {
	case len(a.calls) == 0:
		return "I know only the alert. First: which services have logs, and who reports errors?"
	case a.suspect == "":
		return "No error line was found or could be read, so the logs name no suspect."
	case !a.asked(a.suspect):
		return fmt.Sprintf("Most errors: %s. The errors lead along %s, so I look at the errors of each of these on their own.",
			a.ranking(), strings.Join(a.path, " → "))
	}
	return fmt.Sprintf("%s reports %q from %s on and names no service that it depends on: the trail ends there. What changed in it before that?",
		a.suspect, a.msg, logline.Stamp(a.onset))
}

func (a logAgent) ranking() string {
	var out []string
	for _, service := range ranked(a.logs.errors) {
		out = append(out, fmt.Sprintf("%s %d", service, a.logs.errors[service]))
	}
	return strings.Join(out, ", ")
}

func (a logAgent) conclude() report {
	if a.suspect == "" {
		return report{opening: "## Logs\n\nI found no error line that I could follow, so the logs point to no service.",
			facts: []labelled{{confidenceFact, "low"}}}
	}
	return report{
		opening: fmt.Sprintf("## Logs\n\nThe errors lead along %s and begin in %s: %q, from %s on.", strings.Join(a.path, " → "), a.suspect, a.msg, logline.Stamp(a.onset)),
		facts: []labelled{
			{suspectFact, a.suspect}, {onsetFact, logline.Stamp(a.onset)}, {symptomFact, a.msg}, {confidenceFact, a.confidence()},
		},
		evidence: a.evidence(),
		other:    a.other(),
	}
}

// confidence is high when another service's errors and a change before the onset point the same way.
func (a logAgent) confidence() string {
	switch {
	case len(a.path) > 1 && len(a.changes()) > 0:
		return "high"
	case len(a.path) > 1 || len(a.changes()) > 0:
		return "medium"
	}
	return "low"
}

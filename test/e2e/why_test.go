package e2e

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/tool"
	"github.com/inquest-dev/inquest/internal/transcript"
)

// The conclusion about the sample incident depends on some of the results that its report cites, and on the agent that reads logs. Finding
// that out calls no tool. It needs processes, because the command starts investigations in a running system and waits for them.
func TestWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "defaults: {llm_provider: scripted}\n")
	w.dev()
	w.must("run", "--alert-type", "sample-incident", "--data", "@../../examples/sample-incident/alert.json", "--workflow-id", "incident")
	var found whyFound
	w.decode(&found, "why", "incident", "--yes", "--limit", "6", "--json")
	if found.Control.Same != 1 || len(found.Without) != 6 || found.Without[0].Changed != 1 {
		t.Errorf("found: %+v", found)
	}
	w.callsNoTool(found)
	out := w.must("list", "--meta", "why="+found.Of)
	if n := strings.Count(out, "completed"); n != 7+len(found.Comparisons) {
		t.Errorf("%d of them are listed:\n%s", n, out)
	}
	if out := w.must("list", "--review", "needs_review"); strings.Count(out, "completed") != 1 {
		t.Errorf("only the incident needs a review:\n%s", out)
	}

	var agents whyFound
	w.decode(&agents, "why", "incident", "--leave-out", "agents", "--yes", "--json")
	if agents.changes() != "collect/LogAgent 1 of 1, collect/MetricsAgent 0 of 1, nothing 0 of 1" {
		t.Fatalf("without an agent: %+v", agents)
	}
	w.callsNoTool(agents)
	without := agents.Without[0].Forks[0].ID
	if ran := w.entries(without); slices.ContainsFunc(ran, func(e transcript.Entry) bool { return e.Execution == "collect/LogAgent" }) {
		t.Errorf("%s has an agent that is left out", without)
	}
	missing := regexp.MustCompile(`Not checked:\S* collect/LogAgent \(.* left this agent out\)\n`)
	if out := w.must("report", without); !missing.MatchString(out) {
		t.Errorf("the report does not say which agent is missing:\n%s", out)
	}
}

// whyFound is what "starter why" prints.
type whyFound struct {
	Of          string
	Control     whyWithout
	Without     []whyWithout
	Comparisons []string
}

type whyWithout struct {
	Name          string
	Changed, Same int
	Forks         []struct{ ID, Error string }
}

// changes says how often the conclusion changed without each input.
func (f whyFound) changes() string {
	var all []string
	for _, one := range append(slices.Clone(f.Without), f.Control) {
		all = append(all, fmt.Sprintf("%s %d of %d", cmp.Or(one.Name, "nothing"), one.Changed, one.Changed+one.Same))
	}
	return strings.Join(all, ", ")
}

// callsNoTool checks that the forks completed, and called no tool.
func (w *world) callsNoTool(found whyFound) {
	t := w.t
	t.Helper()
	for _, one := range append(slices.Clone(found.Without), found.Control) {
		for _, f := range one.Forks {
			if f.Error != "" {
				t.Errorf("%s: %s", f.ID, f.Error)
			}
			for _, e := range w.entries(f.ID) {
				result := e.Kind == transcript.KindResult && !e.Call.Inward()
				if result && e.Shared == 0 && e.Recorded == "" && e.ErrorType != tool.ErrorNotRecorded {
					t.Errorf("%s called %s: %+v", f.ID, e.Call.Name, e)
				}
			}
		}
	}
}

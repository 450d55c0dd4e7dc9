package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNotCheckedIn checks whose servers count: those of the last run of each stage, each server once.
func TestNotCheckedIn(t *testing.T) {
	t.Parallel()
	ran := func(name string, agents ...AgentSummary) Stage {
		return Stage{Name: name, Envelope: StageEnvelope{Agents: agents}}
	}
	without := func(name string, servers ...string) AgentSummary {
		a := AgentSummary{Name: name}
		for _, server := range servers {
			a.NotChecked = append(a.NotChecked, NotChecked{Server: server, Why: "it cannot be started"})
		}
		return a
	}
	missing := func(server string, agents ...string) NotChecked {
		return NotChecked{Server: server, Agents: agents, Why: "it cannot be started"}
	}
	for name, tt := range map[string]struct {
		stages []Stage
		want   []NotChecked
	}{
		"nothing":   {},
		"all there": {stages: []Stage{ran("dig", without("A"))}},
		"two agents": {
			[]Stage{ran("dig", without("A", "k8s"), without("B", "k8s", "prom"))},
			[]NotChecked{missing("k8s", "A", "B"), missing("prom", "B")},
		},
		"back in the rerun": {stages: []Stage{ran("dig", without("A", "k8s")), ran("dig#2", without("A"))}},
		"not started again": {stages: []Stage{ran("dig", without("A"), without("A/Sub", "k8s")), ran("dig#2", without("A"))}},
		"gone in the rerun": {[]Stage{ran("dig", without("A")), ran("dig#2", without("A", "k8s"))}, []NotChecked{missing("k8s", "A")}},
		"the same agent in two stages": {
			[]Stage{ran("dig", without("A", "k8s")), ran("tell", without("A", "k8s"))}, []NotChecked{missing("k8s", "A")},
		},
	} {
		if diff := cmp.Diff(tt.want, NotCheckedIn(tt.stages)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCaveats checks the forms of the caveats, in which the words of a server are no markup.
func TestCaveats(t *testing.T) {
	t.Parallel()
	e := Envelope{NoToolResult: true, NotChecked: []NotChecked{
		{Server: "k8s", Agents: []string{"A", "B"}, Why: "it cannot be started", Detail: "see [here](http://evil) `now`"},
		{Server: "prom", Agents: []string{"A"}},
	}}
	want := []string{
		"Not checked: k8s (it cannot be started: see [here](http://evil) `now`) · agents A, B",
		"Not checked: prom (it has not listed its tools) · agent A",
		"No tool result: no tool call succeeded, so the report is not based on data from any system",
	}
	if diff := cmp.Diff(want, e.Caveats()); diff != "" {
		t.Error(diff)
	}
	const paragraphs = "**Not checked:** k8s (it cannot be started: `see [here](http://evil) 'now'`) · agents A, B\n\n" +
		"**Not checked:** prom (it has not listed its tools) · agent A\n\n"
	if got := e.NotCheckedParagraph(); got != paragraphs {
		t.Errorf("got %q, want %q", got, paragraphs)
	}
	if got := e.CaveatLine(); got != "Not checked: k8s, prom" {
		t.Errorf("got %q", got)
	}
	e.NotChecked = nil
	if got := e.CaveatLine(); got != "No tool result" || (Envelope{}).CaveatLine() != "" || len((Envelope{}).Caveats()) > 0 {
		t.Errorf("got %q", got)
	}
}

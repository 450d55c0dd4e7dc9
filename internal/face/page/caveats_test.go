package page

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inquest-dev/inquest/internal/agent"
	"github.com/inquest-dev/inquest/internal/record"
)

// TestWithoutCaveats checks that the page leaves out the paragraphs that the worker put before a report, and nothing that the agent
// wrote, as report.Text does.
func TestWithoutCaveats(t *testing.T) {
	t.Parallel()
	e := record.Envelope{NoToolResult: true, NotChecked: []record.NotChecked{
		{Server: "k8s", Agents: []string{"A", "B"}, Why: "it cannot be started", Detail: "no `such`\nfile"},
		{Server: "prom", Agents: []string{"B"}},
	}}
	const own = "**Not checked:** the network\n\n## Cause\nThe pool."
	reports := map[string]record.Investigation{
		"ours":             {Report: e.NotCheckedParagraph() + "## Cause\nThe pool.", Envelope: e},
		"ours and its own": {Report: e.NotCheckedParagraph() + own, Envelope: e},
		"only its own":     {Report: own},
		"a JSON object":    {Report: `{"cause":"the pool"}`, Envelope: e},
		"no report":        {Envelope: e},
	}
	in, err := json.Marshal(reports)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string][]string
	evaluate(t, `
		const { caveats, withoutCaveats } = await import(module("dom.js"));
		return Object.fromEntries(Object.entries(input).map(([name, r]) => [name, [withoutCaveats(r), ...caveats(r.envelope)]]));`, in, &got)
	for name, r := range reports {
		want := append([]string{strings.TrimPrefix(r.Report, r.Envelope.NotCheckedParagraph())}, r.Envelope.Caveats()...)
		if strings.Join(got[name], "|") != strings.Join(want, "|") {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

// TestAlertNotes checks that the page lists what could not be read of an alert, one note per line.
func TestAlertNotes(t *testing.T) {
	t.Parallel()
	in, err := json.Marshal([]record.Investigation{
		{Labels: agent.Labels{Metadata: map[string]string{agent.AlertNotes: "starts_at\ntitle"}}}, {},
	})
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("assets/dom.js")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", `
		const { alertNotes } = await import("file://" + process.argv[1]);
		process.stdout.write(JSON.stringify(JSON.parse(process.argv[2]).map(alertNotes)), () => process.exit());`, script, string(in)).Output()
	if got := string(out); err != nil || got != `[["starts_at","title"],[]]` {
		t.Errorf("%s, %v", got, err)
	}
}
